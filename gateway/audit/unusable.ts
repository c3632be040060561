/** The audit log of a server cannot be written as its settings say. `message` names the field and says what to do. */
export class AuditUnusable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'AuditUnusable';
  }
}
