import type { Identity } from '../contract/identity.ts';
import type { UpstreamTokens } from './upstream-tokens.ts';
import type { Logger } from '../contract/logger.ts';

/** By lower-case name. */
export type CredentialHeaders = Readonly<Record<string, string>>;

/** Puts the credential for one backend on requests to it. One object per backend and configuration. */
export interface Authenticator {
  /** The credential depends on the caller: each principal has lists of its own, and the gateway's own probes have none. */
  readonly perUser: boolean;
  /** Upstream provider whose stored token the credential is made from: where a refused caller must log in again. */
  readonly provider?: string;
  /** At once when at hand. Throws or rejects with `CredentialError`. `caller` is undefined for probes and anonymous callers. */
  headers(caller: Identity | undefined): CredentialHeaders | Promise<CredentialHeaders>;
  /** The backend answered 401 to `sent`. True: the next `headers` are obtained anew, and one retry makes sense. */
  refused(caller: Identity | undefined, sent: CredentialHeaders): boolean;
}

export type CredentialFault =
  | 'reauthenticate' // the caller can mend it by logging in again: 401 with a challenge
  | 'forbidden' // this user gets none of this provider, whoever logs in again
  | 'misconfigured' // the operator must mend it: client, audience, a secret file
  | 'unavailable' // the token endpoint cannot be asked now
  | 'store_unavailable'; // our own store cannot be asked now: 503

/** No credential could be obtained. `message` is for the log; it never holds a token or what an endpoint wrote. */
export class CredentialError extends Error {
  readonly fault: CredentialFault;
  /** Upstream provider that the caller must log in to again, or has no access to. */
  readonly provider: string | undefined;
  constructor(fault: CredentialFault, message: string, provider?: string) {
    super(message);
    this.name = 'CredentialError';
    this.fault = fault;
    this.provider = provider;
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

/** What strategies get from outside. */
export interface StrategyDeps {
  /** Name of the backend. */
  readonly backend: string;
  /** Its URL; '' for stdio. */
  readonly backendUrl: string;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  readonly upstreamTokens: UpstreamTokens | undefined;
  /** Content of a secret file as it is now, without one trailing line break. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  /** Rejects with an Error when no reply came; redirects are replies. */
  readonly postForm: (post: FormPost) => Promise<FormReply>;
}
