import type { Writable } from 'node:stream';
import type { Logger } from '../contract/logger.ts';
import type { AuditLog } from './audit-log.ts';
import { onHangUp } from './hang-up.ts';
import { AuditOutputs } from './outputs.ts';

/** Outputs of all audit logs of the process. */
export class ProcessAudit {
  readonly outputs: AuditOutputs;
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

  /** Lists the audit logs of these servers, one for each output. */
  logs(servers: Iterable<{ readonly auditLog: AuditLog | undefined }>): AuditLog[] {
    const all = [...servers].map(({ auditLog }) => auditLog);
    return [...new Map(all.flatMap((log) => (log ? [[log.output, log] as const] : []))).values()];
  }

  readonly #reopen = (): void => {
    this.outputs.reopen();
  };
}
