import { Type, type Static } from 'typebox';
import { block, blocks, duration, flag, text, texts, whole } from '../optional.ts';
import { storage } from './auth-server-storage.ts';
import { upstreams } from './upstreams.ts';

const jwtBearerGrant = block('Accept assertions of this issuer as grants (RFC 7523).', {
  max_assertion_age: duration('Maximum age of an accepted assertion, from its `iat`.'),
  subject_bindings: blocks('Subjects that may use the grant.', {
    subject: text('`sub` of the assertion.'),
    allowed_resources: texts('Resources that the subject may request. Defaults to `allowed_audiences`.'),
  }),
  accepted_audiences: texts('Values of `aud`. Defaults to the issuer and the token endpoint of this server.'),
});

/** Clients that obtain tokens for users without a login, and other issuers whose tokens they present. */
const trust = {
  delegate_clients: blocks('Confidential clients that may exchange tokens (RFC 8693).', {
    client_id: text('Client identifier.'),
    client_secret_file: text('Path of the file that holds the client secret, at least 32 characters.'),
    audiences: texts('Audiences that the client may request, each one of `allowed_audiences`.'),
    scopes: texts('Scopes that the client may request, each one of `scopes_supported`.'),
  }),
  trusted_issuers: blocks('Other issuers whose tokens are accepted.', {
    issuer_url: text('Issuer of the tokens.'),
    jwks_url: text('URL of the JSON Web Key Set. Discovered by default.'),
    expected_audience: text('`aud` of tokens that may be exchanged.'),
    allowed_delegate_clients: texts('Delegate clients that may exchange the tokens; `*` alone means all.'),
    allowed_actors: texts('Actors that may act for the subjects.'),
    actor_claim: text('Claim of the subject token that names the actor.'),
    actor_matcher: text('Regular expression that the whole name of the actor must match.'),
    allow_may_act: flag('Require that a `may_act` claim of the subject token names the actor.'),
    allow_private_ips: flag('Allow the key set URL to resolve to a private address.'),
    insecure_allow_http: flag('Allow http URLs for the issuer.'),
    jwt_bearer_grant: jwtBearerGrant,
  }),
};

/** Version of the Run configuration and of its `embedded_auth_server_config`. Any other is refused. */
export const SCHEMA_VERSION = 'v0.1.0';

const perMinute = (description: string) => whole(description, { minimum: 1, maximum: 1_000_000 });

const keys = {
  signing_key_config: block('Keys that sign tokens. Without them every start generates one.', {
    fallback_key_files: texts('Keys that verify only, relative to `key_dir`.'),
    key_dir: text('Directory of the keys.'),
    signing_key_file: text('Key that signs, relative to `key_dir`.'),
  }),
  hmac_secret_files: texts('Secrets of codes and refresh tokens, the current one first.'),
};

const lifespans = {
  token_lifespans: block('Lifetimes of tokens and codes.', {
    access_token_lifespan: duration('Access token.'),
    auth_code_lifespan: duration('Authorization code.'),
    refresh_token_lifespan: duration('Refresh token.'),
  }),
  refresh_grace_seconds: whole(
    'Seconds in which a used refresh token returns the same response again. Defaults to 60; 0 turns this off.',
    {
      minimum: 0,
      maximum: 300,
    },
  ),
};

const clients = {
  baseline_client_scopes: texts('Scopes that every client gets.'),
  allow_confidential_client_registration: flag('Allow registration to issue client secrets.'),
  force_confidential_redirect_uris: texts('Redirect URIs whose clients must register a client secret.'),
  insecure_allow_confidential_over_loopback_http: flag('Allow client secrets over http on loopback.'),
  cimd: block('Clients identified by a client ID metadata document.', {
    enabled: flag('Accept these clients. Defaults to true.'),
    advertise: Type.Optional(
      Type.Enum(['auto', 'always', 'never'], {
        description:
          'Whether the metadata of the server offer documents to clients, which register otherwise. `auto`, the default: while documents can be fetched.',
      }),
    ),
    documents: blocks('Clients whose documents are not fetched, for networks without a way out.', {
      client_id: text('Client identifier: the URL of the document. `*` in its path stands for any characters.'),
      client_name: text('Name that users see.'),
      redirect_uris: texts(
        'Redirect URIs. In the path of http to a loopback host, `*` stands for one segment or a part of one.',
      ),
    }),
    cache_max_size: whole('Maximum number of cached documents. Defaults to 256.', { minimum: 1 }),
    cache_fallback_ttl: duration('Time for which a document without a lifetime of its own is cached. Defaults to 5m.'),
    allowed_hosts: texts('Hosts that may publish documents: a host name, or `*.` and a domain. Defaults to all.'),
    denied_hosts: texts('Hosts that documents may not be fetched from.'),
    allow_cross_origin_redirects: flag('Allow redirect URIs of other sites in a document. Defaults to true.'),
    allow_loopback_http: flag('Allow documents on loopback hosts over http. Development only.'),
  }),
  consent: block('Consent of the user.', {
    mode: Type.Optional(
      Type.Enum(['always', 'remember', 'trusted-only'], {
        description: '`remember` asks once in 30 days and browser; `trusted-only` does not ask for `trusted_clients`.',
      }),
    ),
    trusted_clients: texts(
      'Clients that need no consent with `trusted-only`: an identifier, a URL with `*` in its path, or the host of metadata documents (`*.DOMAIN` for all below).',
    ),
  }),
};

const logins = {
  upstreams,
  upstream_filter: block('Selects the providers after the first one by a claim of the first.', {
    claim: text('Claim that contains a list of strings. Defaults to `groups`.'),
    rules: blocks('Rules. All matching rules apply.', {
      groups: texts('Values of the claim, one of which the user must have.'),
      upstream_providers: texts('Providers that these users log in to.'),
    }),
    default_upstreams: texts('Providers for users that no rule applies to.'),
  }),
  reuse_upstream_tokens: flag('Skip providers after the first whose stored tokens are still valid. Defaults to true.'),
  disable_upstream_token_injection: flag('Do not attach upstream tokens to requests.'),
};

const limits = {
  rate_limits: block('Rate limits of the authorization server. Further requests get status 429.', {
    authorizations_per_minute: perMinute('Authorization requests per minute from one address. Defaults to 60.'),
    registrations_per_minute: perMinute('Registrations per minute from one address. Defaults to 5.'),
    registrations_per_minute_overall: perMinute('Registrations per minute from all addresses. Defaults to 120.'),
    document_fetches_per_minute: perMinute('Metadata documents fetched per minute for one address. Defaults to 10.'),
    failures_per_minute: perMinute('Wrong secrets and codes per minute from one client and address. Defaults to 10.'),
  }),
};

/** The authorization server that runs inside the gateway. */
export const EmbeddedAuthServerConfig = Type.Object(
  {
    schema_version: Type.Optional(Type.Enum([SCHEMA_VERSION], { description: 'Version of this object.' })),
    issuer: text('Issuer of the tokens. The URLs of all endpoints start with it.'),
    authorization_endpoint_base_url: text('Replaces the issuer in `authorization_endpoint` of the discovery document.'),
    insecure_allow_http: flag('Allow an http issuer on a host other than loopback.'),
    allowed_audiences: texts('Values that RFC 8707 `resource` may have.'),
    scopes_supported: texts('Scopes that clients may request.'),
    ...keys,
    ...lifespans,
    ...clients,
    ...trust,
    ...logins,
    ...limits,
    storage,
  },
  { additionalProperties: false, title: 'EmbeddedAuthServer', description: 'Authorization server inside the gateway.' },
);

export type EmbeddedAuthServerConfig = Static<typeof EmbeddedAuthServerConfig>;
