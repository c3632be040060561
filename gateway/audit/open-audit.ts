import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { NO_CHANGE, type Change } from '../kit/parts.ts';
import { AuditLog, type AuditLogDeps } from './audit-log.ts';
import type { AuditOutputs } from './outputs.ts';
import { auditSettings } from './settings.ts';

/** Audit log in use. */
interface OpenAudit {
  readonly log: AuditLog;
  /** Writes what is queued, unless another server uses the same output. */
  close(): Promise<void>;
}

/**
 * Opens the audit log of a server; undefined while it is off. Rejects with `AuditUnusable`.
 */
async function openAudit(
  config: GatewayConfig,
  outputs: AuditOutputs,
  deps: AuditLogDeps,
): Promise<OpenAudit | undefined> {
  const settings = await auditSettings(config);
  if (!settings) return undefined;
  const held = await outputs.open(settings.logFile);
  return { log: new AuditLog(settings, held.output, deps), close: () => held.release() };
}

/** Audit log of the current configuration. */
export class AuditSlot {
  /** Members of the configuration that it was opened with. */
  #audited: unknown;
  #open: OpenAudit | undefined;
  readonly #outputs: AuditOutputs;
  readonly #deps: AuditLogDeps;

  constructor(outputs: AuditOutputs, deps: AuditLogDeps) {
    this.#outputs = outputs;
    this.#deps = deps;
  }

  get current(): AuditLog | undefined {
    return this.#open?.log;
  }

  /** Opens the audit log of another configuration. Rejects with `AuditUnusable`. */
  async prepare(config: GatewayConfig): Promise<Change> {
    const audited = auditedBy(config);
    if (isDeepStrictEqual(audited, this.#audited)) return NO_CHANGE;
    const next = await openAudit(config, this.#outputs, this.#deps);
    return {
      apply: async () => {
        const previous = this.#open;
        this.#audited = audited;
        this.#open = next;
        await previous?.close();
      },
      discard: () => next?.close(),
    };
  }

  async close(): Promise<void> {
    const previous = this.#open;
    this.#open = undefined;
    await previous?.close();
  }
}

/** Returns the members that an audit log depends on. */
const auditedBy = ({ name, audit_config, audit_config_path, vmcp: { incoming } }: GatewayConfig): unknown => ({
  name,
  audit_config,
  audit_config_path,
  trusted: incoming.trusted_proxies,
});
