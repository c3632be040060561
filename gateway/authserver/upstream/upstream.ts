import type { Static, TObject } from 'typebox';
import type { Secret } from '../../contract/identity.ts';
import type { Problem } from '../../contract/problem.ts';
import type { Rule } from '../../contract/rule.ts';
import type { BundleRef } from '../../contract/references.ts';
import type { Variant, VariantScope } from '../../contract/variant.ts';
import type { Outbound, OutboundOptions } from '../../outbound/fetch.ts';
import type { Logger } from '../../contract/logger.ts';

/** What a provider gave for a code or a refresh token. */
export interface UpstreamGrant {
  readonly accessToken: Secret;
  readonly refreshToken?: Secret | undefined;
  readonly idToken?: Secret | undefined;
  /** ms since the epoch; undefined: does not expire. */
  readonly expiresAt?: number | undefined;
  /** ms since the epoch. */
  readonly idTokenExpiresAt?: number | undefined;
  /** Space-separated; undefined when the provider said nothing. */
  readonly scope?: string | undefined;
}

/** Who has logged in, as the provider says. */
export interface UpstreamIdentity {
  readonly subject: string;
  /** The provider names nobody: the subject is made up, and another one at each login. */
  readonly synthetic: boolean;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  /**
   * Whatever else the provider says of the user, in its ID token or its userinfo: not checked, for rules of the operator.
   * Empty where that would be a token reply, which holds secrets.
   */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface UpstreamLogin {
  readonly grant: UpstreamGrant;
  readonly identity: UpstreamIdentity;
}

/** Secrets of one leg, made anew for it. */
export interface LegSecrets {
  /** 128 bits or more. */
  readonly state: string;
  /** RFC 7636 §4.1. */
  readonly codeVerifier: string;
  /** OpenID Connect Core §3.1.2.1; unused by a plain OAuth 2.0 provider. */
  readonly nonce: string;
  /** As `redirectUri()` said when the leg began; undefined: the shared one. */
  readonly redirectUri?: string | undefined;
}

export interface AuthorizationRequest extends LegSecrets {
  /** The user shall authenticate although the provider remembers them; OpenID Connect only. */
  readonly forceLogin?: boolean | undefined;
}

/** Parameters of the callback, each given at most once; `state` has led here and was consumed. */
export interface Callback {
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
  readonly errorDescription?: string | undefined;
}

export interface RefreshRequest {
  readonly grant: UpstreamGrant;
  /** Of the login that the grant comes from. */
  readonly subject: string;
}

export type RefreshOutcome =
  /** Whole: what the reply left out is taken over from the old grant. */
  | { readonly outcome: 'refreshed'; readonly grant: UpstreamGrant; readonly rotated: boolean }
  /** The grant has ended: only another login helps. */
  | { readonly outcome: 'dead'; readonly reason: string }
  /**
   * Later it may work. `rotated` stands in for the refresh token, which is used up: store it at once, with nothing else
   * of the reply, as its ID token could not be verified.
   */
  | { readonly outcome: 'unavailable'; readonly reason: string; readonly rotated?: Secret | undefined };

/** Whether the provider can be asked now. */
export interface UpstreamStatus {
  readonly ready: boolean;
  /** CamelCase, for `/status`. */
  readonly reason?: string;
  readonly message?: string;
}

/** A provider towards which the authorization server is a client. */
export interface Upstream {
  readonly name: string;
  /** Refresh tokens are worth nothing to another client: kept with them, compared before they are used. */
  readonly clientId: string;
  /** Where its pages are, for people. */
  readonly host: string;
  /** Redirect URI, to be registered at the provider. Rejects with `UpstreamError`. */
  redirectUri(): Promise<string>;
  /** Where the user's browser goes. Rejects with `UpstreamError`. */
  authorizationUrl(request: AuthorizationRequest): Promise<string>;
  /** Judges the callback, exchanges the code, finds out who it is. Rejects with `UpstreamError`. */
  login(callback: Callback, secrets: LegSecrets): Promise<UpstreamLogin>;
  /** Never rejects. Asked once: a refresh token may be good for one use only. */
  refresh(request: RefreshRequest): Promise<RefreshOutcome>;
  /** Best effort, 5 s at most. False: not revoked. Never rejects. */
  revoke(grant: UpstreamGrant): Promise<boolean>;
  /** Gets ready in the background what the first login will need. */
  warmUp(): void;
  status(): UpstreamStatus;
  /** Running requests fail. */
  close(): Promise<void>;
}

/** What providers get from outside. */
export interface UpstreamDeps {
  readonly name: string;
  /** `<issuer>/oauth/callback`, used where the configuration names no other. */
  readonly redirectUri: string;
  /** Takes the place of `redirectUri` where the provider sends no `iss`; absent for the first provider. */
  readonly ownRedirectUri?: string | undefined;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  /** Every request goes through a guard of its own policy. */
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** Content of a secret file as it is now. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  readonly readEnvironment?: ((name: string) => string | undefined) | undefined;
  /** Of each request, ms; 10,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Pauses of the warm-up, ms, the last one for ever. */
  readonly retryPausesMs?: readonly number[] | undefined;
}

/** What `resolve` of a type of provider may look at, and where it reports mistakes. */
export interface UpstreamScope extends VariantScope {
  /** Path of the file in which the bundle at `path` will stand; undefined without one. */
  bundleFile(ref: BundleRef | undefined, path: string): string | undefined;
}

/** A type of provider: its fields, its rules, its act. */
export interface UpstreamType<Type extends string, Spec extends TObject, Config extends TObject> extends Omit<
  Variant<Type, Spec, Config, UpstreamDeps, Upstream>,
  'resolve'
> {
  readonly rules: readonly Rule[];
  resolve(spec: Static<Spec>, scope: UpstreamScope): Static<Config>;
  /** What the schema of `config` cannot say. Paths start at the configuration of this type. */
  check(config: Static<Config>): Problem[];
}

export const defineUpstream = <const Type extends string, Spec extends TObject, Config extends TObject>(
  upstream: Omit<UpstreamType<Type, Spec, Config>, 'supported'>,
): UpstreamType<Type, Spec, Config> => ({ ...upstream, supported: true });
