import type { Writable } from 'node:stream';
import type { Logger } from '../contract/logger.ts';
import type { AuditLog, AuditLogDeps } from './audit-log.ts';
import { onHangUp } from './hang-up.ts';
import { openWith, type OpenAudit } from './open-audit.ts';
import { AuditOutputs } from './outputs.ts';
import type { AuditSettings } from './settings.ts';

/** Outputs of all audit logs of the process, and the audit log of its management API. */
export class ProcessAudit {
  readonly outputs: AuditOutputs;
  #management: OpenAudit | undefined;
  #ignoreHangUp: (() => void) | undefined;

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
  async openManagement(settings: AuditSettings | undefined, deps: AuditLogDeps): Promise<void> {
    this.#management = settings && (await openWith(settings, this.outputs, deps));
  }

  /** Lists the audit logs of the management API and of these servers, one for each output. */
  logs(servers: Iterable<{ readonly auditLog: AuditLog | undefined }>): AuditLog[] {
    const all = [this.#management?.log, ...[...servers].map(({ auditLog }) => auditLog)];
    return [...new Map(all.flatMap((log) => (log ? [[log.output, log] as const] : []))).values()];
  }

  /** Closes the audit log of the management API. */
  async close(): Promise<void> {
    await this.#management?.close();
  }

  readonly #reopen = (): void => {
    this.outputs.reopen();
  };
}
