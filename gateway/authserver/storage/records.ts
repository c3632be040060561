import type { JWK } from 'jose';
import type { GrantType } from '../core/token-request.ts';

// Records of the authorization server. Times are ms since the epoch. All records are plain JSON.

/** User of a login, with the facts that tokens carry. */
export interface Login {
  /** `sub` of issued tokens. */
  readonly userId: string;
  readonly authTime: number;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** Access that the client requested and the user approved. */
interface Authorization {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** RFC 8707 `resource` in its configured spelling: `aud` of issued tokens. */
  readonly resource: string;
  /** Identifier under which the upstream tokens of this login are stored. Appears in issued tokens only. */
  readonly tsid: string;
}

/** Login attempt: from the authorization request until the code is issued. */
export interface LoginAttempt extends Authorization {
  readonly redirectUri: string;
  /** `state` of the client. */
  readonly state?: string | undefined;
  /** RFC 7636 S256 challenge of the client. */
  readonly codeChallenge: string;
  /** OpenID Connect `nonce` of the client. */
  readonly nonce?: string | undefined;
  /** SHA-256 of the cookie that binds the attempt to a browser. Absent until a browser opens the consent page. */
  readonly cookieHash?: string | undefined;
  readonly createdAt: number;
  /** Address or network of the client that began the attempt. Absent if many clients may share the known address. */
  readonly address?: string | undefined;
  /** Every provider must authenticate the user again, even if earlier tokens are valid. */
  readonly forceLogin?: boolean | undefined;
  /** Show the consent page even if the user's consent is remembered. */
  readonly askConsent?: boolean | undefined;
  /** Names of the upstream providers whose legs are still to run, the next one first. */
  readonly remaining: readonly string[];
  /** Running leg. */
  readonly leg?: Leg | undefined;
  /** User of the attempt; absent until the first leg has ended. */
  readonly login?: Login | undefined;
}

/** One upstream provider's part of a login attempt. */
export interface Leg {
  readonly provider: string;
  readonly codeVerifier: string;
  readonly nonce: string;
  /** Redirect URI of the request to the provider. Absent in a leg that an older release started. */
  readonly redirectUri?: string | undefined;
}

/** Grant behind an authorization code. */
export interface CodeGrant extends Authorization {
  /** Id of the family that redeeming the code creates. */
  readonly familyId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly nonce?: string | undefined;
  readonly expiresAt: number;
  readonly login: Login;
}

/** The two names of a family: `id` in logs, `tsid` in tokens. */
export interface FamilyRef {
  readonly id: string;
  readonly tsid: string;
}

/** All tokens that descend from one authorization code. */
export interface Family extends Authorization {
  readonly id: string;
  readonly login: Login;
  readonly createdAt: number;
  /** End of the family; refreshes do not extend it. */
  readonly expiresAt: number;
}

/** Proof that the access tokens of a family are valid; removed when the family is revoked. */
export interface LivenessRecord {
  readonly familyId: string;
  readonly userId: string;
  readonly clientId: string;
}

/** User, identified by the provider of the first leg and the subject there. Never linked by e-mail address. */
export interface User {
  readonly id: string;
  /** Configured name of the provider. */
  readonly provider: string;
  readonly subject: string;
  readonly createdAt: number;
}

/** Upstream tokens of one login at one provider. They are secrets, sealed in the store and sent to the provider only. */
export interface UpstreamRow {
  readonly tsid: string;
  readonly provider: string;
  readonly userId: string;
  /** Client that the user logged in to. */
  readonly clientId: string;
  readonly upstreamSubject: string;
  /** Client id of the gateway at the provider. A refresh token is valid for this client id only. */
  readonly upstreamClientId: string;
  /** '' when there is none: in a row that is dead or excluded, or that marks a missing one. */
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
  readonly scope?: string | undefined;
  /** Undefined when the access token does not expire. */
  readonly expiresAt?: number | undefined;
  readonly idTokenExpiresAt?: number | undefined;
  /** Time of the login; a refresh does not change it. */
  readonly storedAt: number;
  /** The provider rejected the refresh token: the user must log in again. */
  readonly dead?: boolean | undefined;
  /** The tokens are those of the user's latest login at the provider, which keeps one refresh token for each user and client. */
  readonly shared?: boolean | undefined;
  /** The client was sent a challenge because the row is unusable. No other login takes this row over. */
  readonly challenged?: boolean | undefined;
  /** The upstream filter excludes the provider for this user: a new login does not help. */
  readonly excluded?: boolean | undefined;
}

/** Method by which a client authenticates at the token endpoint. */
export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** Public keys of a client. @see RFC 7517 §5 */
export interface ClientKeySet {
  readonly keys: readonly JWK[];
}

/** Metadata in force for a client, with the names of RFC 7591 §2. Plain JSON. */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: AuthMethod;
  /** A client with `private_key_jwt` has either this or `jwks_uri`. */
  readonly jwks?: ClientKeySet;
  readonly jwks_uri?: string;
  /** The only algorithm accepted for its assertions. @see OpenID Connect Registration §2 */
  readonly token_endpoint_auth_signing_alg?: string;
  readonly grant_types: readonly GrantType[];
  readonly response_types: readonly ['code'];
  /** Redirect URIs allowed after a logout. @see OpenID Connect RP-Initiated Logout §3.1 */
  readonly post_logout_redirect_uris?: readonly string[];
  /** Scopes that the client may request, separated by spaces. */
  readonly scope: string;
  /** Name that the client gives itself: cleaned for display, not verified. */
  readonly client_name?: string;
  readonly client_uri?: string;
  /** Stored, but never fetched or shown. */
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly software_id?: string;
  readonly software_version?: string;
  readonly application_type?: 'native' | 'web';
}

/** Stored client, also the snapshot stored with a code or a family. Plain JSON without usable secrets. */
export interface Client {
  readonly client_id: string;
  /**
   * `registered`: by dynamic registration (RFC 7591). `document`: by the metadata document at its client id. `configured`: a
   * delegate client, which is never stored. `deleted`: a deleted client whose id contains its registration; treated as unknown.
   */
  readonly source: 'registered' | 'document' | 'configured' | 'deleted';
  readonly metadata: ClientMetadata;
  /** ms since the epoch. */
  readonly issuedAt: number;
  /** SHA-256 of the client secret in base64url; absent without a secret. */
  readonly secretHash?: string;
  /** SHA-256 in base64url of the token that reads and deletes the registration. */
  readonly registrationTokenHash?: string;
}
