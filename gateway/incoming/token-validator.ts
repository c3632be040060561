import type { GatewayConfig, Incoming } from '../contract/gateway-config.ts';
import type { Identity } from '../contract/identity.ts';
import type { Outbound, OutboundOptions } from '../outbound/fetch.ts';
import type { ApiServer } from '../kube/api-server.ts';
import type { KeySource } from './keys/key-set.ts';
import type { Logger } from '../contract/logger.ts';

/** Whether tokens can be judged now. Reason and message may stand beside `ready: true`: it works, but not as it should. */
export interface Readiness {
  readonly ready: boolean;
  readonly reason?: string;
  readonly message?: string;
}

/**
 * True or false where that can be told at once: is the token that proved an identity still good? Else a question that may
 * take requests; it rejects with `DependencyDown` while nobody can say.
 */
export type Liveness = boolean | (() => Promise<boolean>);

/** Says who presents a bearer token. */
export interface TokenValidator {
  /** At once for a token that was verified less than 60 s ago. Throws or rejects with `TokenRefused` or `DependencyDown`. */
  validate(token: string): Identity | Promise<Identity>;
  /** Judges a caller that was admitted before, by the same token. Throws nothing. */
  liveness(identity: Identity): Liveness;
  /** Gets ready in the background what the first token will need. */
  warmUp(): void;
  status(): Readiness;
  close(): void;
}

/** A validator of tokens of one issuer. */
export interface IssuerValidator extends TokenValidator {
  /** Whose tokens these are; undefined while it has to be found out. */
  issuer(): string | undefined;
}

/** The parts of the gateway's configuration that say which tokens are accepted. A GatewayConfig is one. */
export interface IncomingConfig {
  readonly oidc_config?: GatewayConfig['oidc_config'];
  readonly vmcp: { readonly incoming: Incoming; readonly namespace?: string };
}

/** Whether the login behind an access token still counts. */
export interface LoginLiveness {
  /** At once when it was looked up a moment ago. Rejects with an Error that may be logged when nobody can say. */
  isLive(login: {
    readonly tsid: string;
    readonly userId: string;
    readonly clientId: string;
  }): boolean | Promise<boolean>;
}

/** The authorization server in this process, as far as its tokens are judged by it. */
export interface EmbeddedIssuer {
  readonly keys: KeySource;
  readonly liveness: LoginLiveness;
  /** Whether users can log in; ready when absent. */
  status?(): Readiness;
}

export interface ValidatorDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
  /** Every request goes through a guard of its own policy. */
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** Content of a secret file as it is now. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  /** Where there is one, nothing is fetched and only its tokens are accepted. */
  readonly embedded?: EmbeddedIssuer | undefined;
  /** API server; undefined outside of a cluster. */
  readonly apiServer?: ApiServer | undefined;
  /** Pauses between the tries to fetch a document, ms; 500 and 2,000 when absent. */
  readonly retryPausesMs?: readonly number[] | undefined;
}
