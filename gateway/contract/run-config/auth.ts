import { privateKeyJwtConfig } from './private-key-jwt.ts';
import { block, blocks, duration, flag, text, textMap, texts, whole } from '../optional.ts';

/** Boundary 1: accepted bearer tokens. */
export const oidcConfig = block('Bearer tokens that are accepted.', {
  issuer: text('Expected `iss` claim, compared exactly.'),
  audience: text('Expected `aud` claim.'),
  clientID: text('Client identifier, used for introspection.'),
  clientSecret: text('Client secret as a value: read, never written; `clientSecretFile` stands in for it.'),
  clientSecretFile: text('Path of the file that holds the client secret.'),
  private_key_jwt: privateKeyJwtConfig(),
  jwksurl: text('URL of the JSON Web Key Set. Discovered when absent.'),
  introspectionURL: text('RFC 7662 endpoint for opaque tokens.'),
  resourceURL: text('RFC 9728 `resource` of this server.'),
  scopes: texts('Scopes advertised in the protected resource metadata.'),
  authTokenFile: text('Path of the file whose bearer token is sent to the key set and introspection endpoints.'),
  cacertPath: text('PEM certificates trusted in addition to the system roots.'),
  allowPrivateIP: flag('Allow private addresses for the issuer.'),
  insecureAllowHTTP: flag('Allow http URLs for the issuer.'),
});

/** Login at a remote server. */
export const remoteAuthConfig = block('Login at a remote MCP server.', {
  authorize_url: text('Authorization endpoint.'),
  token_url: text('Token endpoint.'),
  issuer: text('Issuer whose discovery document names the endpoints.'),
  resource: text('RFC 8707 resource.'),
  scopes: texts('Scopes to request.'),
  scope_param_name: text('Name of the scope parameter, where it is not `scope`.'),
  oauth_params: textMap('Additional parameters of the authorization request.'),
  client_id: text('Client identifier.'),
  client_secret: text('Reference `NAME,target=TARGET` to the client secret.'),
  client_secret_file: text('Path of the file that holds the client secret.'),
  bearer_token: text('Reference `NAME,target=TARGET` to a fixed bearer token.'),
  bearer_token_file: text('Path of the file that holds a fixed bearer token.'),
  cached_client_id: text('Client identifier obtained by registration.'),
  cached_client_secret_ref: text('Name of the secret that holds the registered client secret.'),
  cached_refresh_token_ref: text('Name of the secret that holds the refresh token.'),
  cached_reg_token_ref: text('Name of the secret that holds the registration access token.'),
  cached_secret_expiry: text('When the registered client secret expires, RFC 3339.'),
  cached_token_expiry: text('When the cached access token expires, RFC 3339.'),
  callback_port: whole('Port of the local redirect URI.'),
  skip_browser: flag('Print the login URL instead of opening a browser.'),
  use_pkce: flag('Send an RFC 7636 challenge.'),
  timeout: duration('Timeout for the login.'),
  headers: blocks('Headers that the server reads, as its registry entry lists them. For information only.', {
    name: text('Name of the header.'),
    description: text('Meaning of the value.'),
    required: flag('Requests without it fail.'),
    default: text('Value when none is given.'),
    secret: flag('The value is a secret.'),
    choices: texts('Allowed values.'),
  }),
});

/** RFC 8693 exchange of the user's token. */
export const tokenExchangeConfig = block('Exchange of the client’s token (RFC 8693).', {
  token_url: text('Token endpoint for the exchange.'),
  audience: text('`audience` of the request; left out when empty.'),
  scopes: texts('`scope` parameter of the request.'),
  client_id: text('Client identifier.'),
  client_secret: text('Client secret as a value: read, never written; `client_secret_file` stands in for it.'),
  client_secret_file: text('Path of the file that holds the client secret.'),
  private_key_jwt: privateKeyJwtConfig(),
  subject_token_type: text('`subject_token_type` of the request.'),
  subject_provider_name: text('Upstream provider whose stored token is the subject. Defaults to the client’s token.'),
  header_strategy: text('`replace` (Authorization) or `custom`.'),
  external_token_header_name: text('Header that carries the exchanged token when the strategy is `custom`.'),
});

/** Sends the upstream token that was stored at login. */
export const upstreamSwapConfig = block('Sends the upstream token stored at login in place of the client’s token.', {
  provider_name: text('Upstream provider.'),
  header_strategy: text('`replace` (Authorization) or `custom`.'),
  custom_header_name: text('Header that carries the token when the strategy is `custom`.'),
});

/** Cloud credentials for the role of the user. */
export const cloudStsConfig = block('Cloud credentials for the role of the user.', {
  region: text('Region.'),
  service: text('Service name that requests are signed for.'),
  fallback_role_arn: text('Role of users without a matching mapping.'),
  role_claim: text('Claim that mappings compare.'),
  role_mappings: blocks('Mappings of claims to roles. The matching one with the lowest priority applies.', {
    claim: text('Value that the role claim must have.'),
    matcher: text('Expression that must be true.'),
    role_arn: text('Role.'),
    priority: whole('Priority. Lower numbers come first.'),
  }),
  session_duration: whole('Lifetime of the credentials in seconds.'),
  session_name_claim: text('Claim that names the session.'),
  subject_provider_name: text('Upstream provider whose stored token is the subject. Defaults to the client’s token.'),
  sts_endpoint: text('URL of the Security Token Service. Defaults to the public one of the region.'),
});
