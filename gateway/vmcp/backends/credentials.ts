import type { Identity } from '../../contract/identity.ts';
import type { Authenticator, CredentialHeaders } from '../../outgoing/authenticator.ts';
import type { BackendFailure, ChannelOwner } from '../transport/channel.ts';

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

  /** The backend did not take the credential, and so did not execute the request. */
  isRefusal({ kind, status }: BackendFailure): boolean {
    return kind === 'unauthenticated' && status === 401;
  }

  /** A failure that no retry mends, as the caller is told it: where the credential is his own, a login helps. */
  asCallerSees(failure: BackendFailure): BackendFailure {
    if (!this.perUser || !this.isRefusal(failure)) return failure;
    return { kind: 'reauthenticate', detail: failure.detail, provider: this.#authenticator?.provider };
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
