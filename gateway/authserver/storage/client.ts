import type { JWK } from 'jose';
import type { GrantType } from '../core/token-request.ts';

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
  /** SHA-256 of the client secret in base64url; absent when there is none. */
  readonly secretHash?: string;
  /** SHA-256 in base64url of the token that reads and deletes the registration. */
  readonly registrationTokenHash?: string;
}
