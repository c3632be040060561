import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { withFields } from '../contract/logger.ts';
import type { TelemetryConfig } from '../contract/run-config/telemetry.ts';
import type { TelemetryExport, TelemetryExportOptions } from './export/telemetry-export.ts';
import type { Tracing } from './tracing.ts';

export interface CurrentExportDeps extends Omit<TelemetryExportOptions, 'service'> {
  readonly version: string;
  /** `service.instance.id` of this process. */
  readonly instanceId: string;
}

/** Time for the last export of a configuration that was replaced, ms. */
const REPLACED_MS = 5_000;

/** Export of the current configuration. Its code is loaded only where a configuration asks for it. */
export class CurrentExport {
  readonly #deps: CurrentExportDeps;
  /** Read for each request. */
  tracing: Tracing | undefined;
  #export: TelemetryExport | undefined;
  #config: TelemetryConfig | undefined;

  constructor(deps: CurrentExportDeps) {
    this.#deps = deps;
  }

  /** Starts, keeps or stops the export as the configuration says. */
  async apply({ name, telemetry_config: config, vmcp }: GatewayConfig): Promise<void> {
    if (isDeepStrictEqual(config, this.#config)) return;
    const { version, instanceId, log, ...deps } = this.#deps;
    const previous = this.#export;
    this.#config = config;
    this.#export = undefined;
    if (config?.endpoint !== undefined) {
      const { TelemetryExport: Export } = await import('./export/telemetry-export.ts');
      const service = { name: name ?? 'vmcp', namespace: vmcp.namespace, version, instanceId };
      this.#export = new Export(config, { ...deps, service, log: withFields(log, { server: name }) });
    }
    this.tracing = this.#export?.tracing;
    await previous?.close(REPLACED_MS);
  }

  /** Sends what is left, for `timeoutMs` at the longest. */
  async close(timeoutMs: number): Promise<void> {
    this.tracing = undefined;
    await this.#export?.close(Math.max(timeoutMs, 0));
  }
}
