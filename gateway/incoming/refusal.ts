import type { Logger } from '../contract/logger.ts';

/** Reason of a rejected token: for the log and for tests, never for the client. */
export type TokenRefusalReason =
  | 'malformed' // not a well-formed token, or members of the wrong type
  | 'encrypted' // JWE
  | 'opaque' // not a JWT, and no introspection is configured
  | 'algorithm'
  | 'critical_header'
  | 'token_type' // a token for another purpose than access
  | 'id_token'
  | 'sender_constrained' // DPoP or certificate bound, presented as a plain bearer token
  | 'kid'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'client'
  | 'expired'
  | 'not_yet_valid'
  | 'subject'
  | 'service_account'
  | 'inactive'
  | 'login_missing' // a token of the embedded authorization server without a login
  | 'login_ended'; // logged out, revoked, or the login is of another user or client

/** The token is rejected: 401. */
export class TokenRefused extends Error {
  readonly reason: TokenRefusalReason;
  /** `aud` of a token for another audience, for the log at debug. Not verified. */
  readonly audiences: readonly unknown[] | undefined;
  constructor(reason: TokenRefusalReason, audiences?: readonly unknown[]) {
    super(`the token was refused: ${reason}`);
    this.name = 'TokenRefused';
    this.reason = reason;
    this.audiences = audiences;
  }
}

export type Dependency = 'keys' | 'introspection' | 'discovery' | 'logins';

/** The token cannot be verified now: 503, never 401. `message` names no token and quotes no reply. */
export class DependencyDown extends Error {
  readonly dependency: Dependency;
  readonly retryAfterSeconds: number;
  constructor(dependency: Dependency, message: string, retryAfterSeconds = 5) {
    super(message);
    this.name = 'DependencyDown';
    this.dependency = dependency;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const QUIET_MS = 10_000;

/** Logs at most one line per interval while a dependency is down. */
export class DependencyLog {
  readonly #log: Pick<Logger, 'error' | 'warn' | 'debug'>;
  readonly #now: () => number;
  readonly #last = new Map<string, { at: number; unsaid: number }>();

  constructor(log: Pick<Logger, 'error' | 'warn' | 'debug'>, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  down(dependency: string, message: string): void {
    const at = this.#now();
    const last = this.#last.get(dependency);
    if (last && at - last.at < QUIET_MS) {
      last.unsaid += 1;
      return;
    }
    const requests = (last?.unsaid ?? 0) + 1;
    this.#log.warn('tokens cannot be judged: requests get 503', { dependency, error: message, requests });
    this.#last.set(dependency, { at, unsaid: 0 });
  }
}
