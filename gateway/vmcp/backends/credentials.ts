import type { Identity } from '../../contract/identity.ts';
import type { Authenticator, CredentialHeaders } from '../../outgoing/authenticator.ts';
import type { CredentialFailures, CredentialProblem } from '../../outgoing/credential-failures.ts';
import type { BackendFailure, ChannelOwner } from '../transport/channel.ts';

/** Credentials for one backend; none without an authenticator. */
export class Credentials {
  readonly #authenticator: Authenticator | undefined;
  readonly #failures: CredentialFailures;

  constructor(authenticator: Authenticator | undefined, failures: CredentialFailures) {
    this.#authenticator = authenticator;
    this.#failures = failures;
  }

  /** Problem of the last request for a credential. */
  get problem(): CredentialProblem | undefined {
    return this.#failures.problem;
  }

  /** True when the credential depends on the principal, and with it the lists of the backend. */
  get perUser(): boolean {
    return this.#authenticator?.perUser ?? false;
  }

  /**
   * Returns the credential for one request of `identity`, at once when it is cached. Throws or rejects with
   * `CredentialError`.
   */
  of(identity: Identity | undefined): CredentialHeaders | Promise<CredentialHeaders> | undefined {
    const authenticator = this.#authenticator;
    return authenticator && this.#obtain(authenticator, identity);
  }

  /** Returns the credential for a request of the gateway itself, which never uses the credential of a user. */
  async ofGateway(): Promise<CredentialHeaders | undefined> {
    return this.perUser ? undefined : await this.of(undefined);
  }

  /**
   * Handles a rejection of `sent`, or for the cached credential. Returns true when the next credential is a new one, so that
   * one retry makes sense.
   */
  refused(identity: Identity | undefined, sent: CredentialHeaders | undefined): boolean {
    const refused = sent ?? this.#atHand(identity);
    return refused !== undefined && (this.#authenticator?.refused(identity, refused) ?? false);
  }

  /** Returns true when the backend rejected the credential, and so did not execute the request. */
  isRefusal({ kind, status }: BackendFailure): boolean {
    if (kind !== 'unauthenticated') return false;
    return status === 401 || (status === 403 && this.#authenticator?.rejectedBy403 === true);
  }

  /** Returns the final failure as reported to the client: `reauthenticate` when a login can help. */
  asReported(failure: BackendFailure): BackendFailure {
    if (!this.perUser || failure.kind !== 'unauthenticated' || failure.status !== 401) return failure;
    return { kind: 'reauthenticate', detail: failure.detail, provider: this.#authenticator?.provider };
  }

  /** Returns the credentials for messages that the channel sends itself. */
  authorizeFor(session: { readonly identity: Identity | undefined } | undefined): ChannelOwner['authorize'] {
    const authenticator = this.#authenticator;
    if (!authenticator || (authenticator.perUser && !session)) return undefined;
    return () => this.#obtain(authenticator, session?.identity);
  }

  #obtain(
    authenticator: Authenticator,
    identity: Identity | undefined,
  ): CredentialHeaders | Promise<CredentialHeaders> {
    try {
      const credential = authenticator.headers(identity);
      if (credential instanceof Promise) return this.#failures.watch(credential);
      if (!authenticator.perUser) this.#failures.succeeded(); // no cache of another user
      return credential;
    } catch (error) {
      this.#failures.failed(error);
      throw error;
    }
  }

  #atHand(identity: Identity | undefined): CredentialHeaders | undefined {
    try {
      const credential = this.of(identity);
      if (!(credential instanceof Promise)) return credential;
      credential.catch(() => undefined);
    } catch {
      // the next request reports the error
    }
    return undefined;
  }
}
