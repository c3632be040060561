import { CredentialError, type Authenticator, type CredentialHeaders } from '../../outgoing/authenticator.ts';
import { readSecretFile } from '../../outbound/watched-file.ts';
import { RemoteLoginError } from './remote-login-error.ts';
import { given, nameInReference, type RemoteAuthConfig } from './stored-record.ts';

/** Reads a secret of the user; undefined when it does not exist. */
export type ReadSecret = (name: string) => Promise<string | undefined>;

/** Returns the secret in a file or behind a reference; undefined when neither is configured. Rejects with `RemoteLoginError`. */
export async function configuredSecret(
  config: RemoteAuthConfig,
  member: 'client_secret' | 'bearer_token',
  readSecret: ReadSecret,
): Promise<string | undefined> {
  const [reference, file] = [given(config[member]), given(config[`${member}_file`])];
  if (reference !== undefined) return secretOf(reference, member, readSecret);
  if (file === undefined) return undefined;
  try {
    return usable(readSecretFile(file).trim(), `the file of ${member}_file`);
  } catch (error) {
    if (error instanceof RemoteLoginError) throw error;
    throw new RemoteLoginError(`${member}_file: ${error instanceof Error ? error.message : 'it cannot be read'}`);
  }
}

async function secretOf(reference: string, member: string, readSecret: ReadSecret): Promise<string> {
  const name = nameInReference(reference);
  if (name === undefined) throw new RemoteLoginError(`${member} is not a reference: write NAME,target=TARGET`);
  const value = await readSecret(name).catch((error: unknown) => {
    const cause = error instanceof Error ? error.message : 'unexpected error';
    throw new RemoteLoginError(`${member}: the secret "${name}" cannot be read: ${cause}`, { isTemporary: true });
  });
  if (value === undefined) throw new RemoteLoginError(`${member}: there is no secret "${name}": create it`);
  return usable(value.trim(), `the secret "${name}"`);
}

/** Characters that a header can carry. */
const USABLE = /^[\x20-\x7E]+$/u;

function usable(value: string, where: string): string {
  if (USABLE.test(value)) return value;
  throw new RemoteLoginError(`${where} is empty or has characters that a header cannot carry`);
}

const REREAD_MS = 10_000;

/** Bearer token that the user has configured, read again every 10 s and after a rejection. */
export class StaticToken implements Authenticator {
  readonly perUser = false;
  readonly #read: () => Promise<string>;
  readonly #now: () => number;
  readonly #report: (isAccepted: boolean) => void;
  #held: { readonly headers: CredentialHeaders; readonly readAt: number } | undefined;
  #rejected: string | undefined;

  /** @param report called with false when the remote server rejects the token, with true when it has changed */
  constructor(read: () => Promise<string>, now: () => number, report: (isAccepted: boolean) => void) {
    this.#read = read;
    this.#now = now;
    this.#report = report;
  }

  headers(): CredentialHeaders | Promise<CredentialHeaders> {
    const held = this.#held;
    return held && this.#now() - held.readAt < REREAD_MS ? held.headers : this.#current();
  }

  /** A changed secret is used for the next request; whether it has changed is known only then. */
  refused(_caller: unknown, sent: CredentialHeaders): boolean {
    const token = sent['authorization'];
    if (token === this.#rejected) return false;
    this.#rejected = token;
    this.#held = undefined;
    this.#report(false);
    return true;
  }

  async #current(): Promise<CredentialHeaders> {
    try {
      const headers = { authorization: `Bearer ${await this.#read()}` };
      if (this.#rejected !== undefined && headers.authorization !== this.#rejected) {
        this.#rejected = undefined;
        this.#report(true);
      }
      this.#held = { headers, readAt: this.#now() };
      return headers;
    } catch (error) {
      const isTemporary = error instanceof RemoteLoginError && error.isTemporary;
      const message = error instanceof Error ? error.message : 'the bearer token cannot be read';
      throw new CredentialError(isTemporary ? 'unavailable' : 'misconfigured', message);
    }
  }
}
