/** Place for the password of the encrypted file, such as the keychain of macOS. */
export interface Keyring {
  /** Returns undefined if the keyring has no password. @throws NoKeyring */
  read(): Promise<string | undefined>;
  /** @throws NoKeyring */
  store(password: string): Promise<void>;
}

/** The machine has no keyring that works. */
export class NoKeyring extends Error {
  constructor(what: string) {
    super(
      `${what}: set VMCP_SECRETS_PASSWORD_FILE to a file with the password, or VMCP_SECRETS_PASSWORD to the password, and start vmcp again`,
    );
    this.name = 'NoKeyring';
  }
}
