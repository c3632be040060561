/**
 * Kind of a failure of the secrets provider. `settings`: the environment of vmcp, or a password of the request, is wrong or absent.
 * `unavailable`: it may work later. `broken`: its file or its name cannot be used.
 */
type SecretsFailureKind = 'settings' | 'unavailable' | 'broken';

/** The provider of secrets does not work. The message is a sentence for the user that says what to do. It holds no secret. */
export class SecretsFailure extends Error {
  readonly kind: SecretsFailureKind;

  constructor(kind: SecretsFailureKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SecretsFailure';
    this.kind = kind;
  }
}
