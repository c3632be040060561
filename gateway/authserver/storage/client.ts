import type { JWK } from 'jose';
import type { GrantType } from '../core/token-request.ts';

/** How a client proves at the token endpoint who it is. */
export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** Public keys of a client. @see RFC 7517 §5 */
export interface ClientKeySet {
  readonly keys: readonly JWK[];
}

/** What is in force for a client; names of RFC 7591 §2. Plain JSON. */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: AuthMethod;
  /** Of a client with `private_key_jwt` there is this or `jwks_uri`. */
  readonly jwks?: ClientKeySet;
  readonly jwks_uri?: string;
  /** The only algorithm of its assertions. @see OpenID Connect Registration §2 */
  readonly token_endpoint_auth_signing_alg?: string;
  readonly grant_types: readonly GrantType[];
  readonly response_types: readonly ['code'];
  /** Where browsers may be sent after a logout. @see OpenID Connect RP-Initiated Logout §3.1 */
  readonly post_logout_redirect_uris?: readonly string[];
  /** What it may ask for, divided by spaces. */
  readonly scope: string;
  /** The client's own word, cleaned for display. Nobody has checked it. */
  readonly client_name?: string;
  readonly client_uri?: string;
  /** Kept, never fetched and never shown. */
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly software_id?: string;
  readonly software_version?: string;
  readonly application_type?: 'native' | 'web';
}

/** A client as it is stored, also as the snapshot beside a code or a family. Plain JSON; holds no usable secret. */
export interface Client {
  readonly client_id: string;
  /** `registered` itself (RFC 7591), or published a `document` at its client id. */
  readonly source: 'registered' | 'document';
  readonly metadata: ClientMetadata;
  /** ms since the epoch. */
  readonly issuedAt: number;
  /** SHA-256 in base64url. Present exactly when the client has a secret. */
  readonly secretHash?: string;
  /** SHA-256 in base64url of the token that reads and deletes the registration. */
  readonly registrationTokenHash?: string;
}
