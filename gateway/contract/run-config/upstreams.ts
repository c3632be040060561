import { Type, type Static } from 'typebox';
import { Closed } from '../fields.ts';
import { privateKeyJwtConfig } from './private-key-jwt.ts';
import { block, blocks, flag, text, textMap, texts } from '../optional.ts';

/** Location of the user's identity in a provider's replies. */
const userInfo = (description: string) =>
  Closed(
    {
      additional_headers: textMap('Additional headers of the request, by header name.'),
      endpoint_url: text('Userinfo endpoint.'),
      http_method: text('GET or POST.'),
      field_mapping: block('Members of the response that identify the user. The first one present is used.', {
        email_fields: texts('Members, or dot paths, that may hold the e-mail address.'),
        name_fields: texts('Members, or dot paths, that may hold the display name.'),
        subject_fields: texts('Members, or dot paths, that may hold the subject.'),
      }),
    },
    { title: 'UserInfoRequest', description },
  );

/** Members of every type of provider. */
const common = {
  client_id: text('Client identifier at the provider.'),
  client_secret_env_var: text('Environment variable that holds the client secret.'),
  client_secret_file: text('Path of the file that holds the client secret.'),
  private_key_jwt: privateKeyJwtConfig(),
  redirect_uri: text('Redirect URI at the provider. Defaults to `<issuer>/oauth/callback`.'),
  scopes: texts('Scopes to request.'),
  additional_authorization_params: textMap('Additional parameters of the authorization request.'),
  additional_token_params: textMap('Additional parameters of token requests, for a code and for a refresh.'),
  omit_scope_on_refresh: flag(
    'Never send `scopes` with a refresh. By default they are sent if the provider granted all of them.',
  ),
  allow_private_ips: flag('Allow the provider to resolve to private addresses.'),
  insecure_allow_http: flag('Allow http URLs for the provider.'),
  ca_file: text('PEM certificates trusted for this provider in addition to the system roots.'),
};

const REGISTRATION = 'Dynamic registration of the gateway (RFC 7591), in place of `client_id`.';

/** Members of `dcr_config` of every type of provider. */
const registration = {
  registration_endpoint: text('Registration endpoint. That of the metadata when absent.'),
  initial_access_token_file: text('Path of the file that holds the initial access token.'),
  software_id: text('`software_id` of the registration.'),
  software_statement: text('`software_statement` of the registration.'),
};

export const oauth2ProviderConfig = Closed(
  {
    authorization_endpoint: text('Authorization endpoint, to which the user is redirected.'),
    token_endpoint: text('Token endpoint.'),
    revocation_endpoint: text('Revocation endpoint (RFC 7009).'),
    issuer: text('`iss` of the callbacks (RFC 9207). Defaults to the origin of one of the endpoints.'),
    ...common,
    token_response_mapping: block('Dot paths into a token response that deviates from RFC 6749, section 5.1.', {
      access_token_path: text('Path of the access token.'),
      expires_in_path: text('Path of the lifetime in seconds.'),
      refresh_token_path: text('Path of the refresh token.'),
      scope_path: text('Path of the granted scope.'),
    }),
    identity_from_token: block('Dot paths of the user’s identity in the token response.', {
      subject_path: text('Path of the subject.'),
      name_path: text('Path of the display name.'),
      email_path: text('Path of the e-mail address.'),
    }),
    dcr_config: block(REGISTRATION, {
      discovery_url: text('URL of the metadata document that contains the registration endpoint.'),
      ...registration,
    }),
    userinfo: Type.Optional(userInfo('Request that identifies the user.')),
  },
  { title: 'OAuth2Provider', description: 'Provider without discovery.' },
);

export const oidcProviderConfig = Closed(
  {
    issuer_url: text('Issuer of the provider.'),
    ...common,
    dcr_config: block(REGISTRATION, registration),
    subject_claim: text('Claim used as the subject. Defaults to `sub`.'),
    userinfo_override: Type.Optional(userInfo('Replacement for the discovered userinfo endpoint.')),
  },
  { title: 'OidcProvider', description: 'Provider with OpenID Connect discovery.' },
);

export const upstreams = blocks(
  'Identity providers, in the order of the login.',
  {
    name: text('Name that `provider_name` and `subject_provider_name` refer to; a DNS label.'),
    type: text('Type: `oauth2` or `oidc`. The member of that name has the settings.'),
    oauth2_config: Type.Optional(oauth2ProviderConfig),
    oidc_config: Type.Optional(oidcProviderConfig),
  },
  {},
  { title: 'UpstreamProvider' },
);

export type OAuth2ProviderConfig = Static<typeof oauth2ProviderConfig>;
export type OidcProviderConfig = Static<typeof oidcProviderConfig>;
export type DcrConfig = NonNullable<OAuth2ProviderConfig['dcr_config']>;
export type UserInfoConfig = NonNullable<OAuth2ProviderConfig['userinfo']>;
/** Members that both types of provider share. */
export type ProviderConfig = Pick<OidcProviderConfig, keyof typeof common> & { readonly dcr_config?: DcrConfig };
