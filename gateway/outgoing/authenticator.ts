import type { Identity } from '../contract/identity.ts';
import type { UpstreamTokens } from './upstream-tokens.ts';
import type { Logger } from '../contract/logger.ts';

/** Member of a credential that signs requests. */
export const SIGN: unique symbol = Symbol('sign');

/** Headers by lower-case name. With `SIGN`, each request carries in addition a signature over its own content. */
export type CredentialHeaders = Readonly<Record<string, string>> & { readonly [SIGN]?: RequestSigner };

/** One HTTP request as it will be sent, except for the headers of the credential. */
export interface UnsignedRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query, as sent. */
  readonly path: string;
  /** Flat list of lower-case names and values. */
  readonly headers: readonly string[];
  /** The body in pieces; empty without a body. */
  readonly body: readonly Buffer[];
}

/** Returns the headers that sign a request, by lower-case name. They replace headers of the same names. */
export type RequestSigner = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>;

/** Puts the credential for one backend on requests to it. One object per backend and configuration. */
export interface Authenticator {
  /** True when the credential depends on the user: each principal has its own lists, and probes send no credential. */
  readonly perUser: boolean;
  /** True when 403, too, may mean that the backend rejects the credential; else only 401 does. */
  readonly rejectedBy403?: boolean;
  /** Upstream provider of the stored token: a rejected user must log in there again. */
  readonly provider?: string;
  /** Returns synchronously when cached. Throws or rejects with `CredentialError`. `caller` is undefined for probes and anonymous clients. */
  headers(caller: Identity | undefined): CredentialHeaders | Promise<CredentialHeaders>;
  /** Records that the backend rejected `sent`. Returns true when one retry with new `headers` makes sense. */
  refused(caller: Identity | undefined, sent: CredentialHeaders): boolean;
}

export type CredentialFault =
  | 'reauthenticate' // the user must log in again: 401 with a challenge
  | 'forbidden' // this user has no access to the provider; a new login does not help
  | 'misconfigured' // the operator must correct client, audience or a secret file
  | 'unavailable' // the token endpoint is down
  | 'store_unavailable'; // the token store is down: 503

/** No credential could be obtained. `message` never contains a token or text of an endpoint. */
export class CredentialError extends Error {
  readonly fault: CredentialFault;
  /** Reason of the endpoint and advice, for the log and `/status` only. Private, so that nothing prints it with the error. */
  #detail: string | undefined;
  /** Upstream provider at which the user must log in again, or has no access. */
  readonly provider: string | undefined;
  constructor(fault: CredentialFault, message: string, provider?: string) {
    super(message);
    this.name = 'CredentialError';
    this.fault = fault;
    this.provider = provider;
  }

  /** The message for operators: with the cleaned description of the endpoint. */
  get detail(): string {
    return this.#detail ?? this.message;
  }

  explain(detail: string): this {
    this.#detail = detail;
    return this;
  }
}

/** One form POST to a token endpoint, through the outbound guard. */
export interface FormPost {
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly allowPrivateIPs: boolean;
  readonly insecureAllowHTTP: boolean;
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
}

export interface FormReply {
  readonly status: number;
  /** Media type in lower case, without parameters. */
  readonly contentType: string;
  readonly body: string;
}

/** Dependencies of strategies. */
export interface StrategyDeps {
  /** Name of the backend. */
  readonly backend: string;
  /** Its URL; '' for stdio. */
  readonly backendUrl: string;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  readonly upstreamTokens: UpstreamTokens | undefined;
  /** Returns the current content of a secret file without one trailing line break. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  /** Posts a form. Rejects with an Error without a reply; redirects are replies. */
  readonly postForm: (post: FormPost) => Promise<FormReply>;
}
