import type { Static, TObject } from 'typebox';
import type { Secret } from '../../contract/identity.ts';
import type { Problem } from '../../contract/problem.ts';
import type { Rule } from '../../contract/rule.ts';
import type { BundleRef } from '../../contract/references.ts';
import type { Variant, VariantScope } from '../../contract/variant.ts';
import type { Outbound, OutboundOptions } from '../../outbound/fetch.ts';
import type { Logger } from '../../contract/logger.ts';

/** Upstream tokens that a provider issued for a code or a refresh token. */
export interface UpstreamGrant {
  readonly accessToken: Secret;
  readonly refreshToken?: Secret | undefined;
  readonly idToken?: Secret | undefined;
  /** ms since the epoch; undefined when the token does not expire. */
  readonly expiresAt?: number | undefined;
  /** ms since the epoch. */
  readonly idTokenExpiresAt?: number | undefined;
  /** Granted scopes, separated by spaces; undefined when the provider did not list them. */
  readonly scope?: string | undefined;
}

/** Identity of the user according to the provider. */
export interface UpstreamIdentity {
  readonly subject: string;
  /** The provider does not identify users: the subject is generated, and different at each login. */
  readonly synthetic: boolean;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  /**
   * All claims of the ID token or of userinfo, unchecked, for rules in the configuration. Empty when the identity is from a
   * token reply, which contains secrets.
   */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface UpstreamLogin {
  readonly grant: UpstreamGrant;
  readonly identity: UpstreamIdentity;
}

/** Secrets of one leg, generated for it. */
export interface LegSecrets {
  /** `state` of the authorization request, at least 128 random bits. */
  readonly state: string;
  /** PKCE code verifier (RFC 7636 §4.1). */
  readonly codeVerifier: string;
  /** `nonce` (OpenID Connect Core §3.1.2.1); unused by plain OAuth 2.0 providers. */
  readonly nonce: string;
  /** Result of `redirectUri()` when the leg started; undefined for the shared one. */
  readonly redirectUri?: string | undefined;
}

export interface LegRequest extends LegSecrets {
  /** The provider must authenticate the user even if it has a session; OpenID Connect only. */
  readonly forceLogin?: boolean | undefined;
}

/** Parameters of the callback, each given at most once, without `state`, which selected the leg. */
export interface Callback {
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
  readonly errorDescription?: string | undefined;
}

export interface RefreshRequest {
  readonly grant: UpstreamGrant;
  /** Subject of the login that the grant belongs to. */
  readonly subject: string;
}

export type RefreshOutcome =
  /** New grant; tokens that the reply omits are copied from the old one. */
  | { readonly outcome: 'refreshed'; readonly grant: UpstreamGrant; readonly rotated: boolean }
  /**
   * The refresh token is useless: the user must log in again. `superseded`: the grant itself may have a newer one, because the
   * provider did not state that it has ended.
   */
  | { readonly outcome: 'dead'; readonly reason: string; readonly superseded?: true }
  /**
   * The refresh may succeed later. `rotated` replaces the refresh token, which is used up: store it at once, but nothing
   * else of the reply, since its ID token could not be verified.
   */
  | { readonly outcome: 'unavailable'; readonly reason: string; readonly rotated?: Secret | undefined };

/** Readiness of a provider. */
export interface UpstreamStatus {
  readonly ready: boolean;
  /** CamelCase, for `/status`. */
  readonly reason?: string;
  readonly message?: string;
  /** Time of the first failure in a row, in ms since the epoch. */
  readonly since?: number;
}

/** Identity provider of which the authorization server is a client. */
export interface Upstream {
  readonly name: string;
  /** Client id at the provider. Stored with refresh tokens and compared before use: they are valid for this client only. */
  readonly clientId: string;
  /**
   * Returns true if this is the client id of the gateway at the provider, also if another replica has registered it. Rejects with
   * `StoreUnavailable`.
   */
  isClient(clientId: string): Promise<boolean>;
  /** Host of the provider's pages, for display. */
  readonly host: string;
  /** Returns the redirect URI to register at the provider. Rejects with `UpstreamError`. */
  redirectUri(): Promise<string>;
  /** Returns the URL to which the user is redirected. Rejects with `UpstreamError`. */
  authorizationUrl(request: LegRequest): Promise<string>;
  /** Checks the callback, exchanges the code and identifies the user. Rejects with `UpstreamError`. */
  login(callback: Callback, secrets: LegSecrets): Promise<UpstreamLogin>;
  /** Refreshes a grant with one request, since a refresh token may be valid for one use only. Never rejects. */
  refresh(request: RefreshRequest): Promise<RefreshOutcome>;
  /** Tries to revoke a grant within 5 s. Returns false when it is not revoked. Never rejects. */
  revoke(grant: UpstreamGrant): Promise<boolean>;
  /** Starts to fetch in the background what the first login needs, such as metadata. */
  warmUp(): void;
  status(): UpstreamStatus;
  /** Closes the provider; running requests fail. */
  close(): Promise<void>;
}

/** Store of the gateway's registrations at providers, shared by all replicas. Methods reject while the store is down. */
export interface RegistrationStore {
  get(key: string): Promise<string | undefined>;
  put(key: string, text: string): Promise<void>;
  delete(key: string): Promise<void>;
  /** Runs `work` while no other replica does. Resolves to undefined if another one does. */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T | undefined>;
}

/** Dependencies of every provider. */
export interface UpstreamDeps {
  readonly name: string;
  /** Default redirect URI: `<issuer>/oauth/callback`. */
  readonly redirectUri: string;
  /** Redirect URI for a provider that does not send `iss`; absent for the first provider. */
  readonly ownRedirectUri?: string | undefined;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  /** Every request goes through a guard of its own policy. */
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** Returns the current content of a secret file. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  readonly readEnvironment?: ((name: string) => string | undefined) | undefined;
  /** Needed for providers with `dcr_config` only. */
  readonly registrations?: RegistrationStore | undefined;
  /** Timeout of each request, ms; 10,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Pauses between the attempts of `warmUp`, ms; the last one repeats. */
  readonly retryPausesMs?: readonly number[] | undefined;
}

/** Facts that `resolve` of a provider may read, and its outlet for problems. */
export interface UpstreamScope extends VariantScope {
  /** Returns the path of the file for the bundle at `path`; undefined without one. */
  bundleFile(ref: BundleRef | undefined, path: string): string | undefined;
}

/** Type of provider: fields, rules and implementation. */
interface UpstreamType<Type extends string, Spec extends TObject, Config extends TObject> extends Omit<
  Variant<Type, Spec, Config, UpstreamDeps, Upstream>,
  'resolve'
> {
  readonly rules: readonly Rule[];
  resolve(spec: Static<Spec>, scope: UpstreamScope): Static<Config>;
  /** Lists the problems that the schema of `config` cannot express. Paths start at the configuration of this type. */
  check(config: Static<Config>): Problem[];
}

export const defineUpstream = <const Type extends string, Spec extends TObject, Config extends TObject>(
  upstream: Omit<UpstreamType<Type, Spec, Config>, 'supported'>,
): UpstreamType<Type, Spec, Config> => ({ ...upstream, supported: true });
