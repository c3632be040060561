import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from '../contract/gateway-config.ts';
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

/** Audit log in use, which a new configuration can replace. */
export class AuditSlot {
  #config: GatewayConfig;
  #open: OpenAudit | undefined;
  readonly #outputs: AuditOutputs;
  readonly #deps: AuditLogDeps;

  /** Rejects like `openAudit`. */
  static async open(config: GatewayConfig, outputs: AuditOutputs, deps: AuditLogDeps): Promise<AuditSlot> {
    return new AuditSlot(config, await openAudit(config, outputs, deps), outputs, deps);
  }

  private constructor(config: GatewayConfig, open: OpenAudit | undefined, outputs: AuditOutputs, deps: AuditLogDeps) {
    this.#config = config;
    this.#open = open;
    this.#outputs = outputs;
    this.#deps = deps;
  }

  get current(): AuditLog | undefined {
    return this.#open?.log;
  }

  /**
   * Opens the audit log of another configuration, runs `apply`, and then replaces the present log. Keeps it when the settings are
   * the same, and when opening or `apply` fails.
   */
  async swap(config: GatewayConfig, apply: () => Promise<void>): Promise<void> {
    const isSame = isDeepStrictEqual(auditedBy(this.#config), auditedBy(config));
    const next = isSame ? this.#open : await openAudit(config, this.#outputs, this.#deps);
    try {
      await apply();
    } catch (error) {
      if (!isSame) await next?.close();
      throw error;
    }
    const previous = this.#open;
    this.#config = config;
    this.#open = next;
    if (!isSame) await previous?.close();
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
