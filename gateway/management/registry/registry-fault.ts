export type RegistryFaultKind =
  | 'connect' // the registry cannot be reached, or its address is not allowed
  | 'document' // the content is not a registry
  | 'legacy' // the content has the old layout
  | 'auth' // the registry requires a login
  | 'setting'; // the location or another setting is wrong

/** A registry cannot be read. `message` is one sentence for the user, without text of the registry. */
export class RegistryFault extends Error {
  readonly kind: RegistryFaultKind;

  constructor(kind: RegistryFaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RegistryFault';
    this.kind = kind;
  }
}
