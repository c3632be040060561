/** The provider of secrets does not work. The message is a sentence for the log that says what to do. It holds no secret. */
export class SecretsFailure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SecretsFailure';
  }
}
