import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { withFields } from '../contract/logger.ts';
import type { TelemetryConfig } from '../contract/run-config/telemetry.ts';
import { NO_CHANGE, type Change } from '../kit/parts.ts';
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
  async prepare({ name, telemetry_config: config, vmcp }: GatewayConfig): Promise<Change> {
    if (isDeepStrictEqual(config, this.#config)) return NO_CHANGE;
    const { TelemetryExport: Export } =
      config?.endpoint === undefined ? {} : await import('./export/telemetry-export.ts');
    return {
      apply: async () => {
        const { version, instanceId, log, ...deps } = this.#deps;
        const previous = this.#export;
        const service = { name: name ?? 'vmcp', namespace: vmcp.namespace, version, instanceId };
        this.#config = config;
        this.#export =
          config && Export && new Export(config, { ...deps, service, log: withFields(log, { server: name }) });
        this.tracing = this.#export?.tracing;
        await previous?.close(REPLACED_MS);
      },
      discard: () => undefined,
    };
  }

  /** Sends what is left until `end`, in ms of `performance.now()`. */
  async close(end: number): Promise<void> {
    this.tracing = undefined;
    await this.#export?.close(Math.max(end - performance.now(), 0));
  }
}
