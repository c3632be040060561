import type { IncomingMessage } from 'node:http';
import type { GatewayConfig, Incoming } from '../contract/gateway-config.ts';
import type { Identity, Secret } from '../contract/identity.ts';
import type { Outbound, OutboundOptions } from '../outbound/fetch.ts';
import type { ApiServer } from '../kube/api-server.ts';
import type { KeySource } from './keys/key-set.ts';
import type { Logger } from '../contract/logger.ts';

/** Readiness to verify tokens. `ready: true` with reason and message means degraded. */
export interface Readiness {
  readonly ready: boolean;
  readonly reason?: string;
  readonly message?: string;
  /** Time of the first failure in a row, RFC 3339. */
  readonly since?: string;
}

/**
 * Validity of the token behind an identity: true or false when known, else a function that may
 * send requests and rejects with `DependencyDown` while a dependency is down.
 */
export type Liveness = boolean | (() => Promise<boolean>);

/** Validates bearer tokens. */
export interface TokenValidator {
  /**
   * Returns synchronously for a token verified in the last 60 s. Throws or rejects with `TokenRefused` or `DependencyDown`. `req` is
   * the request with the token: its client's address limits look-ups of unknown keys.
   */
  validate(token: string, req?: IncomingMessage): Identity | Promise<Identity>;
  /** Checks whether the token of an accepted identity is still valid. Never throws. */
  liveness(identity: Identity): Liveness;
  /** Fetches in the background what the first token will need. */
  warmUp(): void;
  status(): Readiness;
  close(): void;
}

/** Validator of tokens of one issuer. */
export interface IssuerValidator extends TokenValidator {
  /** Returns the accepted issuer; undefined until it is known. */
  issuer(): string | undefined;
}

/** Members of a GatewayConfig that describe accepted tokens. */
export interface IncomingConfig {
  readonly oidc_config?: GatewayConfig['oidc_config'];
  readonly authz_config?: GatewayConfig['authz_config'];
  readonly vmcp: { readonly incoming: Incoming; readonly namespace?: string };
}

/** Checks whether the login behind an access token is still valid. */
export interface LoginLiveness {
  /**
   * Answers from memory, without a promise, soon after a look-up in the store. Rejects while the store is down; the error
   * contains no secret and may be logged.
   */
  isLive(login: {
    readonly tsid: string;
    readonly userId: string;
    readonly clientId: string;
  }): boolean | Promise<boolean>;
  /** Returns true while tokens of subjects of another issuer, which have no login, are accepted. False when absent. */
  trusts?(issuer: string): boolean;
}

/** Access tokens of upstream providers, of users' logins. */
export interface AccessTokens {
  /** Throws or rejects without a usable token. The same token is the same object. */
  get(
    owner: { readonly tsid: string; readonly subject: string; readonly clientId: string | undefined },
    provider: string,
  ): { readonly accessToken: Secret } | Promise<{ readonly accessToken: Secret }>;
}

/** The part of the embedded authorization server that validates its tokens. */
export interface EmbeddedIssuer {
  readonly keys: KeySource;
  readonly liveness: LoginLiveness;
  /** Logins have no upstream tokens when absent. */
  readonly upstreamTokens?: AccessTokens;
  /** Readiness for logins; ready when absent. */
  status?(): Readiness;
}

export interface ValidatorDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
  /** Creates an outbound guard for one policy. */
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** Returns the current content of a secret file. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  /** When set, nothing is fetched and only its tokens are accepted. */
  readonly embedded?: EmbeddedIssuer | undefined;
  /** API server; undefined outside of a cluster. */
  readonly apiServer?: ApiServer | undefined;
  /** Pauses between attempts to fetch a document, ms; 500 and 2,000 when absent. */
  readonly retryPausesMs?: readonly number[] | undefined;
}
