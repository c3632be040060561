import type { Writable } from 'node:stream';
import type { Logger } from '../contract/logger.ts';
import type { AuditConfig } from '../contract/run-config/audit.ts';
import { AuditLog, type AuditLogDeps } from './audit-log.ts';
import { AuditOutputs, type HeldOutput } from './outputs.ts';
import { settingsOf } from './settings.ts';
import { closeSync, openSync } from 'node:fs';

/** Component of the events of the management API, unless its settings name another one. */
const MANAGEMENT = { name: 'management', vmcp: { incoming: {} } };

/** Outputs of all audit logs of the process, and the audit log of its management API. */
export class ProcessAudit {
  readonly outputs: AuditOutputs;
  #ignoreHangUp: (() => void) | undefined;
  #management: { readonly auditLog: AuditLog; readonly held: HeldOutput } | undefined;

  /** `stdout` is that of the process. */
  constructor(stdout: Writable, log: Pick<Logger, 'warn' | 'info'>) {
    this.outputs = new AuditOutputs({
      stdout,
      log,
      onFiles: (any) => {
        this.#ignoreHangUp?.();
        this.#ignoreHangUp = any ? onHangUp(this.#reopen) : undefined;
      },
    });
  }

  /** Opens the audit log of the management API. Rejects with `AuditUnusable`. */
  async openManagement(audit: AuditConfig, deps: AuditLogDeps): Promise<void> {
    const settings = settingsOf(audit, MANAGEMENT);
    if (!settings) return;
    const held = await this.outputs.open(settings.logFile);
    this.#management = { auditLog: new AuditLog(settings, held.output, deps), held };
  }

  /** Lists the audit logs of these servers and of the management API, one for each output. */
  logs(servers: Iterable<{ readonly auditLog: AuditLog | undefined }>): AuditLog[] {
    const all = [...[...servers].map(({ auditLog }) => auditLog), this.#management?.auditLog];
    return [...new Map(all.flatMap((log) => (log ? [[log.output, log] as const] : []))).values()];
  }

  /** Writes what is queued in the audit log of the management API. */
  async close(): Promise<void> {
    await this.#management?.held.release();
    this.#management = undefined;
  }

  readonly #reopen = (): void => {
    this.outputs.reopen();
  };
}

/**
 * Calls `reopen` at each SIGHUP, with which programs that rotate logs ask for new files. When the terminal of the process was
 * closed, the process stops as after SIGTERM instead. Returns a function that restores the default.
 */
function onHangUp(reopen: () => void): () => void {
  const hadTerminal = process.stdin.isTTY;
  const onSignal = (): void => {
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, 'SIGTERM');
    else reopen();
  };
  process.on('SIGHUP', onSignal);
  return () => {
    process.off('SIGHUP', onSignal);
  };
}

/** Returns false after the terminal that controls this process was closed. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
