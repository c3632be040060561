import { ENDPOINT_PATHS, type Endpoint } from '../../contract/paths/public-paths.ts';
import type { GrantType } from './token-request.ts';

/** Base URLs of the server. They come from the configuration, never from a request. */
export interface ServerUrls {
  readonly issuer: string;
  /** Replaces the issuer in `authorization_endpoint` only. */
  readonly authorizationEndpointBaseUrl?: string | undefined;
}

export interface ServerFeatures {
  readonly grantTypes: readonly GrantType[];
  readonly scopesSupported: readonly string[];
  /** URLs of the protected resources that tokens are issued for. */
  readonly audiences: readonly string[];
  /** Methods that the token endpoint accepts, including `none`. */
  readonly clientAuthenticationMethods: readonly string[];
  /** Algorithms of client assertions; used with `private_key_jwt` only. */
  readonly assertionAlgorithms: readonly string[];
  /** Algorithms of all signing keys. */
  readonly signingAlgorithms: readonly string[];
  readonly clientIdMetadataDocuments: boolean;
}

export const endpointUrl = (endpoint: Endpoint, { issuer, authorizationEndpointBaseUrl }: ServerUrls): string =>
  `${endpoint === 'authorize' ? (authorizationEndpointBaseUrl ?? issuer) : issuer}${ENDPOINT_PATHS[endpoint]}`;

/**
 * Returns the metadata document for OAuth and OpenID Connect. Both well-known names serve the same document, so that
 * clients of either find all members.
 * @see RFC 8414 §2, RFC 9207 §3, RFC 9728 §4, OpenID Connect Discovery §3, RP-Initiated Logout §2.1
 */
export function serverMetadata(urls: ServerUrls, features: ServerFeatures) {
  const { clientAuthenticationMethods: methods, scopesSupported: scopes } = features;
  const url = (endpoint: Endpoint): string => endpointUrl(endpoint, urls);
  return {
    issuer: urls.issuer,
    authorization_endpoint: url('authorize'),
    token_endpoint: url('token'),
    registration_endpoint: url('register'),
    revocation_endpoint: url('revoke'),
    introspection_endpoint: url('introspect'),
    ...(scopes.includes('openid') && { userinfo_endpoint: url('userinfo') }),
    end_session_endpoint: url('logout'),
    jwks_uri: url('jwks'),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [...features.grantTypes],
    code_challenge_methods_supported: ['S256'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(features.signingAlgorithms)],
    ...clientAuthentication('token', methods, features),
    ...clientAuthentication('revocation', methods, features),
    // Public clients may not introspect tokens.
    ...clientAuthentication(
      'introspection',
      methods.filter((method) => method !== 'none'),
      features,
    ),
    scopes_supported: [...scopes],
    authorization_response_iss_parameter_supported: true,
    request_uri_parameter_supported: false, // the default is true
    client_id_metadata_document_supported: features.clientIdMetadataDocuments,
    protected_resources: [...features.audiences],
  };
}

type ClientAuthentication<Name extends string> = Partial<
  Record<`${Name}_endpoint_auth_${'methods' | 'signing_alg_values'}_supported`, string[]>
>;

/** Returns the authentication members of an endpoint, without empty lists. @see RFC 8414 §2, §3.2 */
const clientAuthentication = <Name extends string>(
  endpoint: Name,
  methods: readonly string[],
  { assertionAlgorithms }: ServerFeatures,
): ClientAuthentication<Name> =>
  ({
    ...(methods.length > 0 && { [`${endpoint}_endpoint_auth_methods_supported`]: [...methods] }),
    ...(methods.includes('private_key_jwt') && {
      [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: [...assertionAlgorithms],
    }),
  }) as ClientAuthentication<Name>;
