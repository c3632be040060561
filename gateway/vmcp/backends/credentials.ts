import type { Identity } from '../../contract/identity.ts';
import type { Authenticator, CredentialHeaders } from '../../outgoing/authenticator.ts';
import type { ChannelOwner } from '../transport/channel.ts';

/** The credentials for one backend; without an authenticator it gets none. */
export class Credentials {
  readonly #authenticator: Authenticator | undefined;

  constructor(authenticator: Authenticator | undefined) {
    this.#authenticator = authenticator;
  }

  /** What the backend offers depends on who asks, because its credential does. */
  get perUser(): boolean {
    return this.#authenticator?.perUser ?? false;
  }

  /** Upstream provider at which a login brings another credential. */
  get provider(): string | undefined {
    return this.#authenticator?.provider;
  }

  /** For one request of `caller`; at once when at hand. Throws or rejects with `CredentialError`. */
  of(caller: Identity | undefined): CredentialHeaders | Promise<CredentialHeaders> | undefined {
    return this.#authenticator?.headers(caller);
  }

  /** For a request of the gateway itself: nobody's own credential is spent on what it wants to know. */
  async ofNobody(): Promise<CredentialHeaders | undefined> {
    return this.perUser ? undefined : await this.of(undefined);
  }

  /** The backend answered 401 to `sent`, or to what is at hand. True: it is obtained anew, and one retry makes sense. */
  refused(caller: Identity | undefined, sent: CredentialHeaders | undefined): boolean {
    const refused = sent ?? this.#atHand(caller);
    return refused !== undefined && (this.#authenticator?.refused(caller, refused) ?? false);
  }

  /** For what a channel sends on its own account. */
  authorizeFor(session: { readonly identity: Identity | undefined } | undefined): ChannelOwner['authorize'] {
    const authenticator = this.#authenticator;
    if (!authenticator || (authenticator.perUser && !session)) return undefined;
    return () => authenticator.headers(session?.identity);
  }

  #atHand(caller: Identity | undefined): CredentialHeaders | undefined {
    try {
      const credential = this.of(caller);
      if (!(credential instanceof Promise)) return credential;
      credential.catch(() => undefined);
    } catch {
      // whoever needs it is told
    }
    return undefined;
  }
}
