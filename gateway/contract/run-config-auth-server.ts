import { Type, type Static } from 'typebox';
import { block, blocks, duration, flag, text, textMap, texts, whole } from './optional.ts';

/** Version of the Run configuration and of its `embedded_auth_server_config`. Any other is refused. */
export const SCHEMA_VERSION = 'v0.1.0';

const userinfo = (description: string) =>
  block(description, {
    additional_headers: textMap('Header name to value, sent with the request.'),
    endpoint_url: text('URL that answers who the user is.'),
    http_method: text('GET or POST.'),
    field_mapping: block('Which members of the answer mean what; the first present one counts.', {
      email_fields: texts('Members that may hold the e-mail address.'),
      name_fields: texts('Members that may hold the display name.'),
      subject_fields: texts('Members that may hold the subject.'),
    }),
  });

const credentials = {
  client_id: text('Client identifier at the provider.'),
  client_secret_env_var: text('Environment variable that holds the client secret.'),
  client_secret_file: text('Path of the file that holds the client secret.'),
  redirect_uri: text('Where the provider sends the user back to; `<issuer>/oauth/callback` when absent.'),
  scopes: texts('Scopes asked for.'),
};

const upstreams = blocks('Identity providers, in the order in which the user visits them.', {
  name: text('Name that `provider_name` and `subject_provider_name` refer to; a DNS label.'),
  type: text('`oauth2` or `oidc`: which of the two members below is read.'),
  oauth2_config: block('A provider without discovery.', {
    authorization_endpoint: text('URL that the user is redirected to.'),
    token_endpoint: text('URL that gives tokens for codes.'),
    ...credentials,
    token_response_mapping: block('Dot paths into a token response that is not RFC 6749 §5.1.', {
      access_token_path: text('Path of the access token.'),
      expires_in_path: text('Path of the lifetime in seconds.'),
      refresh_token_path: text('Path of the refresh token.'),
      scope_path: text('Path of the granted scope.'),
    }),
    userinfo: userinfo('How the user is identified.'),
  }),
  oidc_config: block('A provider with OpenID Connect discovery.', {
    issuer_url: text('Issuer of the provider.'),
    ...credentials,
    userinfo_override: userinfo('Used in place of the discovered userinfo endpoint.'),
  }),
});

const tls = (description: string) =>
  block(description, {
    ca_cert_file: text('PEM bundle trusted beside the system roots.'),
    insecure_skip_verify: flag('Do not verify the certificate. Development only.'),
  });

const storage = block('Where sessions, codes and upstream tokens are kept.', {
  type: text('`memory` (lost on restart) or `kvstore`.'),
  kvstore_config: block('The key-value store.', {
    acl_user_config: block('User and password of the store.', {
      password_env_var: text('Environment variable that holds the password.'),
      username_env_var: text('Environment variable that holds the user name.'),
      password_file: text('Path of the file that holds the password.'),
      username_file: text('Path of the file that holds the user name.'),
    }),
    auth_type: text('`aclUser`.'),
    dial_timeout: duration('Longest wait for a connection.'),
    read_timeout: duration('Longest wait for an answer.'),
    write_timeout: duration('Longest wait for a write.'),
    key_prefix: text('Put before every key.'),
    sentinel_config: block('Sentinels that name the current master.', {
      db: whole('Database number.'),
      master_name: text('Name of the master set.'),
      sentinel_addrs: texts('host:port of each sentinel.'),
    }),
    sentinel_tls: tls('TLS to the sentinels.'),
    tls: tls('TLS to the store.'),
  }),
});

/** The authorization server that runs inside the gateway. */
export const EmbeddedAuthServerConfig = Type.Object(
  {
    schema_version: Type.Optional(Type.Enum([SCHEMA_VERSION], { description: 'Version of this object.' })),
    issuer: text('Issuer of the tokens; every endpoint derives from it.'),
    authorization_endpoint_base_url: text('Replaces the issuer in `authorization_endpoint` of the discovery document.'),
    allowed_audiences: texts('Values that RFC 8707 `resource` may have.'),
    scopes_supported: texts('Scopes that clients may ask for.'),
    signing_key_config: block('Keys that sign tokens; generated at every start when absent.', {
      fallback_key_files: texts('Keys that verify only, relative to `key_dir`.'),
      key_dir: text('Directory of the keys.'),
      signing_key_file: text('Key that signs, relative to `key_dir`.'),
    }),
    hmac_secret_files: texts('Secrets of codes and refresh tokens, the current one first.'),
    token_lifespans: block('How long what is issued lives.', {
      access_token_lifespan: duration('Access token.'),
      auth_code_lifespan: duration('Authorization code.'),
      refresh_token_lifespan: duration('Refresh token.'),
    }),
    storage,
    upstreams,
  },
  { additionalProperties: false, description: 'The authorization server that runs inside the gateway.' },
);

export type EmbeddedAuthServerConfig = Static<typeof EmbeddedAuthServerConfig>;
