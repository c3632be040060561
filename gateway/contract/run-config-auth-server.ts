import { Type, type Static } from 'typebox';
import { block, blocks, duration, flag, text, texts, whole } from './optional.ts';
import { storage } from './run-config-auth-server-storage.ts';
import { upstreams } from './run-config-upstreams.ts';

/** Version of the Run configuration and of its `embedded_auth_server_config`. Any other is refused. */
export const SCHEMA_VERSION = 'v0.1.0';

const perMinute = (description: string) => whole(description, { minimum: 1, maximum: 1_000_000 });

const keys = {
  signing_key_config: block('Keys that sign tokens; generated at every start when absent.', {
    fallback_key_files: texts('Keys that verify only, relative to `key_dir`.'),
    key_dir: text('Directory of the keys.'),
    signing_key_file: text('Key that signs, relative to `key_dir`.'),
  }),
  hmac_secret_files: texts('Secrets of codes and refresh tokens, the current one first.'),
};

const lifespans = {
  token_lifespans: block('How long what is issued lives.', {
    access_token_lifespan: duration('Access token.'),
    auth_code_lifespan: duration('Authorization code.'),
    refresh_token_lifespan: duration('Refresh token.'),
  }),
  refresh_grace_seconds: whole('How long a refresh token gets the same answer again; 60 when absent, 0 for never.', {
    minimum: 0,
    maximum: 300,
  }),
};

const clients = {
  baseline_client_scopes: texts('Scopes that every client gets.'),
  allow_confidential_client_registration: flag('Registration may issue client secrets.'),
  force_confidential_redirect_uris: texts('Redirect URIs that must register as confidential.'),
  insecure_allow_confidential_over_loopback_http: flag('Allow client secrets over http on loopback.'),
  cimd: block('Clients that are identified by a metadata document.', {
    enabled: flag('Accept them; true when absent.'),
    cache_max_size: whole('Most documents that are remembered; 256 when absent.', { minimum: 1 }),
    cache_fallback_ttl: duration('How long a document without its own lifetime is remembered; 5m when absent.'),
    allowed_hosts: texts('Hosts of documents, or `*.` and a domain; all when absent.'),
    denied_hosts: texts('Hosts of documents that are refused.'),
    allow_cross_origin_redirects: flag('Let a document name redirect URIs of other sites; true when absent.'),
    allow_loopback_http: flag('Let documents stand on loopback hosts, over http. Development only.'),
  }),
  consent: block('When the user is asked.', {
    mode: Type.Optional(
      Type.Enum(['always', 'remember', 'trusted-only'], {
        description: '`remember` asks once in 30 days and browser; `trusted-only` does not ask for `trusted_clients`.',
      }),
    ),
    trusted_clients: texts('Client identifiers that the operator vouches for.'),
  }),
};

const logins = {
  upstreams,
  upstream_filter: block('Which providers a user visits after the first, by a claim of the first.', {
    claim: text('Claim that holds a list of texts; `groups` when absent.'),
    rules: blocks('Every matching rule counts.', {
      groups: texts('Members of any of these.'),
      upstream_providers: texts('Visit these providers.'),
    }),
    default_upstreams: texts('Providers of users whom no rule matches.'),
  }),
  reuse_upstream_tokens: flag('Skip later providers whose tokens of an earlier login live; true when absent.'),
  disable_upstream_token_injection: flag('Do not attach upstream tokens to requests.'),
};

const limits = {
  rate_limits: block('What may be asked in a minute, before 429.', {
    authorizations_per_minute: perMinute('Of one address; 60 when absent.'),
    registrations_per_minute: perMinute('Of one address; 5 when absent.'),
    registrations_per_minute_overall: perMinute('Of all addresses; 120 when absent.'),
    document_fetches_per_minute: perMinute('Metadata documents for one address; 10 when absent.'),
    failures_per_minute: perMinute('Wrong secrets and codes of one client and address; 10 when absent.'),
  }),
};

/** The authorization server that runs inside the gateway. */
export const EmbeddedAuthServerConfig = Type.Object(
  {
    schema_version: Type.Optional(Type.Enum([SCHEMA_VERSION], { description: 'Version of this object.' })),
    issuer: text('Issuer of the tokens; every endpoint derives from it.'),
    authorization_endpoint_base_url: text('Replaces the issuer in `authorization_endpoint` of the discovery document.'),
    insecure_allow_http: flag('Allow an http issuer on a host that is not loopback.'),
    allowed_audiences: texts('Values that RFC 8707 `resource` may have.'),
    scopes_supported: texts('Scopes that clients may ask for.'),
    ...keys,
    ...lifespans,
    ...clients,
    ...logins,
    ...limits,
    storage,
  },
  { additionalProperties: false, description: 'The authorization server that runs inside the gateway.' },
);

export type EmbeddedAuthServerConfig = Static<typeof EmbeddedAuthServerConfig>;
