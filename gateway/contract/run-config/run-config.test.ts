import { describe, expect, it } from 'vitest';
import { RunConfig, SCHEMA_VERSION } from './run-config.ts';
import { exportRunConfig, importRunConfig } from './document.ts';

/** Fields of the run configuration that other tools write: path and type. `[]` marks a list, `{}` a map. */
const SPECIFICATION = `
allow_container_gateway boolean
audit_config.component string
audit_config.enabled boolean
audit_config.eventTypes string[]
audit_config.excludeEventTypes string[]
audit_config.includeRequestData boolean
audit_config.includeResponseData boolean
audit_config.logFile string
audit_config.maxDataSize integer
audit_config_path string
authz_config.type string
authz_config.version string
authz_config_path string
cloud_sts_config.fallback_role_arn string
cloud_sts_config.region string
cloud_sts_config.role_claim string
cloud_sts_config.service string
cloud_sts_config.session_name_claim string
cloud_sts_config.role_mappings[].claim string
cloud_sts_config.role_mappings[].matcher string
cloud_sts_config.role_mappings[].role_arn string
cloud_sts_config.role_mappings[].priority integer
cloud_sts_config.session_duration integer
base_name string
container_name string
name string
group string
host string
image string
endpoint_prefix string
env_file_dir string
jwks_auth_token_file string
permission_profile_name_or_path string
rate_limit_namespace string
registry_api_url string
registry_server_name string
registry_url string
remote_url string
schema_version string
target_host string
cli_ca_bundle string
cluster_pod_template_patch string
cmd_args string[]
publish string[]
secrets string[]
tools_filter string[]
volumes string[]
container_labels string{}
env_vars string{}
debug boolean
isolate_network boolean
stateless boolean
trust_proxy_headers boolean
port integer
target_port integer
header_forward.add_headers_from_secret string{}
header_forward.add_plaintext_headers string{}
ignore_config.loadGlobal boolean
ignore_config.printOverlays boolean
middleware_configs[].parameters object
middleware_configs[].type string
mutating_webhooks[].failure_policy string
mutating_webhooks[].hmac_secret_ref string
mutating_webhooks[].name string
mutating_webhooks[].timeout integer
mutating_webhooks[].url string
mutating_webhooks[].tls_config.ca_bundle_path string
mutating_webhooks[].tls_config.client_cert_path string
mutating_webhooks[].tls_config.client_key_path string
mutating_webhooks[].tls_config.insecure_skip_verify boolean
validating_webhooks[].failure_policy string
validating_webhooks[].hmac_secret_ref string
validating_webhooks[].name string
validating_webhooks[].timeout integer
validating_webhooks[].url string
validating_webhooks[].tls_config.ca_bundle_path string
validating_webhooks[].tls_config.client_cert_path string
validating_webhooks[].tls_config.client_key_path string
validating_webhooks[].tls_config.insecure_skip_verify boolean
oidc_config.allowPrivateIP boolean
oidc_config.audience string
oidc_config.authTokenFile string
oidc_config.cacertPath string
oidc_config.clientID string
oidc_config.clientSecret string
oidc_config.introspectionURL string
oidc_config.issuer string
oidc_config.jwksurl string
oidc_config.resourceURL string
oidc_config.insecureAllowHTTP boolean
oidc_config.scopes string[]
proxy_mode string
rate_limit_config.perUser.maxTokens integer
rate_limit_config.perUser.refillPeriod duration
rate_limit_config.shared.maxTokens integer
rate_limit_config.shared.refillPeriod duration
rate_limit_config.tools[].name string
rate_limit_config.tools[].perUser.maxTokens integer
rate_limit_config.tools[].perUser.refillPeriod duration
rate_limit_config.tools[].shared.maxTokens integer
rate_limit_config.tools[].shared.refillPeriod duration
remote_auth_config.authorize_url string
remote_auth_config.bearer_token string
remote_auth_config.bearer_token_file string
remote_auth_config.cached_client_id string
remote_auth_config.cached_client_secret_ref string
remote_auth_config.cached_refresh_token_ref string
remote_auth_config.cached_reg_token_ref string
remote_auth_config.cached_secret_expiry string
remote_auth_config.cached_token_expiry string
remote_auth_config.client_id string
remote_auth_config.client_secret string
remote_auth_config.client_secret_file string
remote_auth_config.issuer string
remote_auth_config.resource string
remote_auth_config.scope_param_name string
remote_auth_config.token_url string
remote_auth_config.callback_port integer
remote_auth_config.oauth_params string{}
remote_auth_config.scopes string[]
remote_auth_config.skip_browser boolean
remote_auth_config.use_pkce boolean
remote_auth_config.timeout duration
runtime_config.additional_packages string[]
runtime_config.builder_image string
scaling_config.backend_replicas integer
scaling_config.session_kvstore.address string
scaling_config.session_kvstore.db integer
scaling_config.session_kvstore.key_prefix string
telemetry_config.caCertPath string
telemetry_config.endpoint string
telemetry_config.samplingRate string
telemetry_config.serviceName string
telemetry_config.serviceVersion string
telemetry_config.customAttributes string{}
telemetry_config.headers string{}
telemetry_config.enableMetricsPath boolean
telemetry_config.insecure boolean
telemetry_config.metricsEnabled boolean
telemetry_config.tracingEnabled boolean
telemetry_config.useLegacyAttributes boolean
telemetry_config.environmentVariables string[]
token_exchange_config.audience string
token_exchange_config.client_id string
token_exchange_config.client_secret string
token_exchange_config.external_token_header_name string
token_exchange_config.header_strategy string
token_exchange_config.subject_token_type string
token_exchange_config.token_url string
token_exchange_config.scopes string[]
tools_override{}.description string
tools_override{}.name string
transport string
upstream_swap_config.custom_header_name string
upstream_swap_config.header_strategy string
upstream_swap_config.provider_name string
embedded_auth_server_config.allowed_audiences string[]
embedded_auth_server_config.authorization_endpoint_base_url string
embedded_auth_server_config.hmac_secret_files string[]
embedded_auth_server_config.issuer string
embedded_auth_server_config.schema_version string
embedded_auth_server_config.scopes_supported string[]
embedded_auth_server_config.signing_key_config.fallback_key_files string[]
embedded_auth_server_config.signing_key_config.key_dir string
embedded_auth_server_config.signing_key_config.signing_key_file string
embedded_auth_server_config.storage.type string
embedded_auth_server_config.storage.kvstore_config.acl_user_config.password_env_var string
embedded_auth_server_config.storage.kvstore_config.acl_user_config.username_env_var string
embedded_auth_server_config.storage.kvstore_config.auth_type string
embedded_auth_server_config.storage.kvstore_config.dial_timeout duration
embedded_auth_server_config.storage.kvstore_config.key_prefix string
embedded_auth_server_config.storage.kvstore_config.read_timeout duration
embedded_auth_server_config.storage.kvstore_config.write_timeout duration
embedded_auth_server_config.storage.kvstore_config.sentinel_config.db integer
embedded_auth_server_config.storage.kvstore_config.sentinel_config.master_name string
embedded_auth_server_config.storage.kvstore_config.sentinel_config.sentinel_addrs string[]
embedded_auth_server_config.storage.kvstore_config.sentinel_tls.ca_cert_file string
embedded_auth_server_config.storage.kvstore_config.sentinel_tls.insecure_skip_verify boolean
embedded_auth_server_config.storage.kvstore_config.tls.ca_cert_file string
embedded_auth_server_config.storage.kvstore_config.tls.insecure_skip_verify boolean
embedded_auth_server_config.token_lifespans.access_token_lifespan duration
embedded_auth_server_config.token_lifespans.auth_code_lifespan duration
embedded_auth_server_config.token_lifespans.refresh_token_lifespan duration
embedded_auth_server_config.upstreams[].name string
embedded_auth_server_config.upstreams[].type string
embedded_auth_server_config.upstreams[].oauth2_config.authorization_endpoint string
embedded_auth_server_config.upstreams[].oauth2_config.client_id string
embedded_auth_server_config.upstreams[].oauth2_config.client_secret_env_var string
embedded_auth_server_config.upstreams[].oauth2_config.client_secret_file string
embedded_auth_server_config.upstreams[].oauth2_config.redirect_uri string
embedded_auth_server_config.upstreams[].oauth2_config.token_endpoint string
embedded_auth_server_config.upstreams[].oauth2_config.scopes string[]
embedded_auth_server_config.upstreams[].oauth2_config.token_response_mapping.access_token_path string
embedded_auth_server_config.upstreams[].oauth2_config.token_response_mapping.expires_in_path string
embedded_auth_server_config.upstreams[].oauth2_config.token_response_mapping.refresh_token_path string
embedded_auth_server_config.upstreams[].oauth2_config.token_response_mapping.scope_path string
embedded_auth_server_config.upstreams[].oauth2_config.userinfo.additional_headers string{}
embedded_auth_server_config.upstreams[].oauth2_config.userinfo.endpoint_url string
embedded_auth_server_config.upstreams[].oauth2_config.userinfo.http_method string
embedded_auth_server_config.upstreams[].oauth2_config.userinfo.field_mapping.email_fields string[]
embedded_auth_server_config.upstreams[].oauth2_config.userinfo.field_mapping.name_fields string[]
embedded_auth_server_config.upstreams[].oauth2_config.userinfo.field_mapping.subject_fields string[]
embedded_auth_server_config.upstreams[].oidc_config.client_id string
embedded_auth_server_config.upstreams[].oidc_config.client_secret_env_var string
embedded_auth_server_config.upstreams[].oidc_config.client_secret_file string
embedded_auth_server_config.upstreams[].oidc_config.issuer_url string
embedded_auth_server_config.upstreams[].oidc_config.redirect_uri string
embedded_auth_server_config.upstreams[].oidc_config.scopes string[]
embedded_auth_server_config.upstreams[].oidc_config.userinfo_override.additional_headers string{}
embedded_auth_server_config.upstreams[].oidc_config.userinfo_override.endpoint_url string
embedded_auth_server_config.upstreams[].oidc_config.userinfo_override.http_method string
embedded_auth_server_config.upstreams[].oidc_config.userinfo_override.field_mapping.email_fields string[]
embedded_auth_server_config.upstreams[].oidc_config.userinfo_override.field_mapping.name_fields string[]
embedded_auth_server_config.upstreams[].oidc_config.userinfo_override.field_mapping.subject_fields string[]
`;

/** Fields of our own. */
const ADDITIONS = `
package.command string
package.with string[]
package.python string
package.install_env string{}
working_dir string
authz_config.cedar.policies string[]
authz_config.cedar.entities_json string
authz_config.cedar.group_claim_name string
authz_config.cedar.role_claim_name string
authz_config.cedar.group_entity_type string
authz_config.cedar.primary_upstream_provider string
audit_config.detectApplicationErrors boolean
audit_config.maxDelegationDepth integer
audit_config.onOverflow string
mutating_webhooks[].allow_private_ips boolean
mutating_webhooks[].claims string[]
mutating_webhooks[].insecure_allow_http boolean
validating_webhooks[].allow_private_ips boolean
validating_webhooks[].claims string[]
validating_webhooks[].insecure_allow_http boolean
oidc_config.clientSecretFile string
oidc_config.private_key_jwt.private_key_file string
oidc_config.private_key_jwt.key_id string
oidc_config.private_key_jwt.algorithm string
oidc_config.private_key_jwt.audience string
token_exchange_config.private_key_jwt.private_key_file string
token_exchange_config.private_key_jwt.key_id string
token_exchange_config.private_key_jwt.algorithm string
token_exchange_config.private_key_jwt.audience string
embedded_auth_server_config.upstreams[].oauth2_config.private_key_jwt.private_key_file string
embedded_auth_server_config.upstreams[].oauth2_config.private_key_jwt.key_id string
embedded_auth_server_config.upstreams[].oauth2_config.private_key_jwt.algorithm string
embedded_auth_server_config.upstreams[].oauth2_config.private_key_jwt.audience string
embedded_auth_server_config.upstreams[].oidc_config.private_key_jwt.private_key_file string
embedded_auth_server_config.upstreams[].oidc_config.private_key_jwt.key_id string
embedded_auth_server_config.upstreams[].oidc_config.private_key_jwt.algorithm string
embedded_auth_server_config.upstreams[].oidc_config.private_key_jwt.audience string
token_exchange_config.client_secret_file string
telemetry_config.headerFiles string{}
telemetry_config.allowPrivateIP boolean
token_exchange_config.subject_provider_name string
cloud_sts_config.subject_provider_name string
cloud_sts_config.sts_endpoint string
scaling_config.session_kvstore.password_file string
scaling_config.session_kvstore.tls.ca_cert_file string
scaling_config.session_kvstore.tls.insecure_skip_verify boolean
rate_limit_config.storeUnavailable string
embedded_auth_server_config.storage.kvstore_config.acl_user_config.password_file string
embedded_auth_server_config.storage.kvstore_config.acl_user_config.username_file string
embedded_auth_server_config.allow_confidential_client_registration boolean
embedded_auth_server_config.baseline_client_scopes string[]
embedded_auth_server_config.cimd.enabled boolean
embedded_auth_server_config.cimd.advertise string
embedded_auth_server_config.cimd.documents[].client_id string
embedded_auth_server_config.cimd.documents[].client_name string
embedded_auth_server_config.cimd.documents[].redirect_uris string[]
embedded_auth_server_config.cimd.cache_max_size integer
embedded_auth_server_config.cimd.cache_fallback_ttl duration
embedded_auth_server_config.cimd.allowed_hosts string[]
embedded_auth_server_config.cimd.denied_hosts string[]
embedded_auth_server_config.cimd.allow_cross_origin_redirects boolean
embedded_auth_server_config.cimd.allow_loopback_http boolean
embedded_auth_server_config.consent.mode string
embedded_auth_server_config.consent.trusted_clients string[]
embedded_auth_server_config.delegate_clients[].audiences string[]
embedded_auth_server_config.delegate_clients[].client_id string
embedded_auth_server_config.delegate_clients[].client_secret_file string
embedded_auth_server_config.delegate_clients[].scopes string[]
embedded_auth_server_config.disable_upstream_token_injection boolean
embedded_auth_server_config.force_confidential_redirect_uris string[]
embedded_auth_server_config.insecure_allow_confidential_over_loopback_http boolean
embedded_auth_server_config.insecure_allow_http boolean
embedded_auth_server_config.rate_limits.authorizations_per_minute integer
embedded_auth_server_config.rate_limits.registrations_per_minute integer
embedded_auth_server_config.rate_limits.registrations_per_minute_overall integer
embedded_auth_server_config.rate_limits.document_fetches_per_minute integer
embedded_auth_server_config.rate_limits.failures_per_minute integer
embedded_auth_server_config.refresh_grace_seconds integer
embedded_auth_server_config.reuse_upstream_tokens boolean
embedded_auth_server_config.storage.kvstore_config.addr string
embedded_auth_server_config.storage.kvstore_config.cluster_mode boolean
embedded_auth_server_config.storage.max_dcr_clients integer
embedded_auth_server_config.trusted_issuers[].issuer_url string
embedded_auth_server_config.trusted_issuers[].jwks_url string
embedded_auth_server_config.trusted_issuers[].expected_audience string
embedded_auth_server_config.trusted_issuers[].allowed_delegate_clients string[]
embedded_auth_server_config.trusted_issuers[].allowed_actors string[]
embedded_auth_server_config.trusted_issuers[].actor_claim string
embedded_auth_server_config.trusted_issuers[].actor_matcher string
embedded_auth_server_config.trusted_issuers[].allow_may_act boolean
embedded_auth_server_config.trusted_issuers[].allow_private_ips boolean
embedded_auth_server_config.trusted_issuers[].insecure_allow_http boolean
embedded_auth_server_config.trusted_issuers[].jwt_bearer_grant.accepted_audiences string[]
embedded_auth_server_config.trusted_issuers[].jwt_bearer_grant.max_assertion_age duration
embedded_auth_server_config.trusted_issuers[].jwt_bearer_grant.subject_bindings[].allowed_resources string[]
embedded_auth_server_config.trusted_issuers[].jwt_bearer_grant.subject_bindings[].subject string
embedded_auth_server_config.upstream_filter.claim string
embedded_auth_server_config.upstream_filter.default_upstreams string[]
embedded_auth_server_config.upstream_filter.rules[].groups string[]
embedded_auth_server_config.upstream_filter.rules[].upstream_providers string[]
embedded_auth_server_config.upstreams[].oauth2_config.additional_authorization_params string{}
embedded_auth_server_config.upstreams[].oauth2_config.additional_token_params string{}
embedded_auth_server_config.upstreams[].oauth2_config.omit_scope_on_refresh boolean
embedded_auth_server_config.upstreams[].oauth2_config.allow_private_ips boolean
embedded_auth_server_config.upstreams[].oauth2_config.dcr_config.discovery_url string
embedded_auth_server_config.upstreams[].oauth2_config.dcr_config.registration_endpoint string
embedded_auth_server_config.upstreams[].oauth2_config.dcr_config.initial_access_token_file string
embedded_auth_server_config.upstreams[].oauth2_config.dcr_config.software_id string
embedded_auth_server_config.upstreams[].oauth2_config.dcr_config.software_statement string
embedded_auth_server_config.upstreams[].oauth2_config.insecure_allow_http boolean
embedded_auth_server_config.upstreams[].oauth2_config.ca_file string
embedded_auth_server_config.upstreams[].oauth2_config.identity_from_token.email_path string
embedded_auth_server_config.upstreams[].oauth2_config.identity_from_token.name_path string
embedded_auth_server_config.upstreams[].oauth2_config.identity_from_token.subject_path string
embedded_auth_server_config.upstreams[].oauth2_config.issuer string
embedded_auth_server_config.upstreams[].oauth2_config.revocation_endpoint string
embedded_auth_server_config.upstreams[].oidc_config.additional_authorization_params string{}
embedded_auth_server_config.upstreams[].oidc_config.additional_token_params string{}
embedded_auth_server_config.upstreams[].oidc_config.omit_scope_on_refresh boolean
embedded_auth_server_config.upstreams[].oidc_config.allow_private_ips boolean
embedded_auth_server_config.upstreams[].oidc_config.insecure_allow_http boolean
embedded_auth_server_config.upstreams[].oidc_config.ca_file string
embedded_auth_server_config.upstreams[].oidc_config.subject_claim string
embedded_auth_server_config.upstreams[].oidc_config.dcr_config.registration_endpoint string
embedded_auth_server_config.upstreams[].oidc_config.dcr_config.initial_access_token_file string
embedded_auth_server_config.upstreams[].oidc_config.dcr_config.software_id string
embedded_auth_server_config.upstreams[].oidc_config.dcr_config.software_statement string
permission_profile.name string
permission_profile.network.inbound.allow_host string[]
permission_profile.network.mode string
permission_profile.network.outbound.allow_host string[]
permission_profile.network.outbound.allow_port integer[]
permission_profile.network.outbound.insecure_allow_all boolean
permission_profile.privileged boolean
permission_profile.read string[]
permission_profile.write string[]
remote_auth_config.headers[].choices string[]
remote_auth_config.headers[].default string
remote_auth_config.headers[].description string
remote_auth_config.headers[].name string
remote_auth_config.headers[].required boolean
remote_auth_config.headers[].secret boolean
`;

interface Shape {
  type?: string;
  enum?: string[];
  pattern?: string;
  properties?: Record<string, Shape>;
  patternProperties?: Record<string, Shape>;
  items?: Shape;
  additionalProperties?: boolean;
}

const scalar = (shape: Shape): string => (shape.pattern ? 'duration' : shape.enum ? 'string' : (shape.type ?? 'any'));

/** Every leaf of the schema, written as in SPECIFICATION. */
function leaves(shape: Shape, path = ''): string[] {
  const free = Object.values(shape.patternProperties ?? {})[0];
  const inner = free ?? shape.items;
  const mark = free ? '{}' : '[]';
  if (inner) return inner.properties ? leaves(inner, path + mark) : [`${path} ${scalar(inner)}${mark}`];
  const members = Object.entries(shape.properties ?? {});
  if (members.length === 0) return [`${path} ${scalar(shape)}`];
  return members.flatMap(([name, member]) => leaves(member, path ? `${path}.${name}` : name));
}

const lines = (table: string) => table.trim().split('\n').toSorted();
const declared = leaves(RunConfig).toSorted();

/** A value for every field of the schema. */
function sample(shape: Shape, path = ''): unknown {
  if (shape.enum) return shape.enum[0];
  if (shape.pattern) return '90s';
  if (shape.items) return [sample(shape.items, path), sample(shape.items, path)];
  const free = Object.values(shape.patternProperties ?? {})[0];
  if (free) return { first: sample(free, path), second: sample(free, path) };
  switch (shape.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(shape.properties ?? { any: {} }).map(([k, v]) => [k, sample(v, `${path}.${k}`)]),
      );
    case 'boolean':
      return true;
    case 'integer':
      return 7;
    default:
      return /(client_?secret|bearer_token)$/i.test(path) ? 'KEY,target=header' : `text of ${path}`;
  }
}

const full = () => sample(RunConfig) as Record<string, unknown>;

function accepted(json: unknown): RunConfig {
  const result = importRunConfig(json);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

const refused = (json: unknown) => {
  const result = importRunConfig(json);
  return 'problems' in result ? result.problems.map(({ reason, path }) => `${reason} ${path}`) : [];
};

describe('the schema of the Run configuration', () => {
  it.each(lines(SPECIFICATION))('has %s', (line) => {
    expect(declared).toContain(line);
  });

  it('has no other fields except the listed additions', () => {
    const known = new Set([...lines(SPECIFICATION), ...lines(ADDITIONS)]);
    expect(declared.filter((line) => !known.has(line))).toEqual([]);
    expect(declared).toHaveLength(known.size);
  });

  it('allows unknown fields only in middleware parameters, and requires only schema_version', () => {
    const open: string[] = [];
    const visit = (shape: Shape, path: string) => {
      if (shape.type === 'object' && !shape.patternProperties && shape.additionalProperties !== false) open.push(path);
      for (const [name, member] of Object.entries(shape.properties ?? {})) visit(member, `${path}.${name}`);
      for (const member of Object.values(shape.patternProperties ?? {})) visit(member, `${path}{}`);
      if (shape.items) visit(shape.items, `${path}[]`);
    };
    visit(RunConfig, '');
    expect(open).toEqual(['.middleware_configs[].parameters']);
    expect(RunConfig.required).toEqual(['schema_version']);
  });
});

describe('import and export', () => {
  it('preserve a document with every field', () => {
    const document = full();
    const once = exportRunConfig(accepted(document));
    expect(once).toEqual(document);
    expect(JSON.stringify(exportRunConfig(accepted(once)))).toBe(JSON.stringify(once));
  });

  it('preserve the smallest document', () => {
    expect(exportRunConfig(accepted({ schema_version: SCHEMA_VERSION }))).toEqual({ schema_version: SCHEMA_VERSION });
  });

  it('write members in a fixed order', () => {
    const reversed = Object.fromEntries(Object.entries(full()).toReversed());
    expect(JSON.stringify(exportRunConfig(accepted(reversed)))).toBe(JSON.stringify(exportRunConfig(accepted(full()))));
  });

  it.each([
    ['1m0s', '1m0s'],
    ['90s', '90s'],
    [60_000_000_000, '1m0s'],
    [1_500_000_000, '1.5s'],
    [250_000_000, '250ms'],
    [1_500, '1.5µs'],
    [42, '42ns'],
    [0, '0s'],
    [5_400_000_000_000, '1h30m0s'],
    [{ seconds: 90 }, '1m30s'],
    [{ seconds: '90', nanos: 500_000_000 }, '1m30.5s'],
    [{ minutes: 2, milliseconds: 1 }, '2m0.001s'],
    [{ duration: '30s' }, '30s'],
    [{ duration: 1_000_000_000 }, '1s'],
  ])('read the duration %j as %s in every duration field', (written, text) => {
    const config = accepted({
      schema_version: SCHEMA_VERSION,
      rate_limit_config: {
        shared: { maxTokens: 1, refillPeriod: written },
        tools: [{ name: 't', perUser: { maxTokens: 1, refillPeriod: written } }],
      },
      remote_auth_config: { timeout: written },
      embedded_auth_server_config: { token_lifespans: { access_token_lifespan: written } },
    });
    expect(config.rate_limit_config?.shared?.refillPeriod).toBe(text);
    expect(config.rate_limit_config?.tools?.[0]?.perUser?.refillPeriod).toBe(text);
    expect(config.remote_auth_config?.timeout).toBe(text);
    expect(config.embedded_auth_server_config?.token_lifespans?.access_token_lifespan).toBe(text);
    expect(exportRunConfig(config)).toEqual(config);
  });

  it.each([['soon'], [-1], [1.5], [{}], [{ fortnights: 1 }], [{ seconds: -1 }], [{ duration: {} }], [[1]], [true]])(
    'refuse the duration %j',
    (written) => {
      const problems = refused({ schema_version: SCHEMA_VERSION, remote_auth_config: { timeout: written } });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(/ remote_auth_config\.timeout$/);
    },
  );

  it('treat null as absent, except in middleware parameters', () => {
    const config = accepted({
      schema_version: SCHEMA_VERSION,
      scaling_config: { backend_replicas: null },
      oidc_config: { scopes: null },
      middleware_configs: [{ type: 'auth', parameters: { oidc_config: null } }],
    });
    expect(config).toEqual({
      schema_version: SCHEMA_VERSION,
      scaling_config: {},
      oidc_config: {},
      middleware_configs: [{ type: 'auth', parameters: { oidc_config: null } }],
    });
  });

  it('omit secret values and members of a larger document', () => {
    const config = {
      ...accepted({
        schema_version: SCHEMA_VERSION,
        oidc_config: { issuer: 'https://a', clientSecret: 'canary-1' },
        remote_auth_config: { client_secret: 'canary-2', bearer_token: 'TOKEN,target=header' },
        token_exchange_config: { client_secret: 'canary-3' },
      }),
      vmcp: { backends: [] },
    };
    const exported = exportRunConfig(config);
    expect(JSON.stringify(exported)).not.toMatch(/canary|vmcp/);
    expect(exported.oidc_config).toEqual({ issuer: 'https://a' });
    expect(exported.remote_auth_config).toEqual({ bearer_token: 'TOKEN,target=header' });
    expect(exported.token_exchange_config).toEqual({});
  });

  it('leave the input unchanged', () => {
    const document = { schema_version: SCHEMA_VERSION, remote_auth_config: { timeout: 5_000_000_000 } };
    accepted(document);
    expect(document.remote_auth_config.timeout).toBe(5_000_000_000);
  });
});

describe('import', () => {
  it.each<[string, unknown, string[]]>([
    ['an unknown version', { schema_version: 'v9.0.0' }, ['UnknownSchemaVersion schema_version']],
    [
      'an unknown version of the authorization server',
      { schema_version: SCHEMA_VERSION, embedded_auth_server_config: { schema_version: 'v9' } },
      ['UnknownSchemaVersion embedded_auth_server_config.schema_version'],
    ],
    ['a missing version', { name: 'a' }, ['MissingField schema_version']],
    ['a version that is not a string', { schema_version: 1 }, ['InvalidValue schema_version']],
    ['an unknown field', { schema_version: SCHEMA_VERSION, nmae: 'a' }, ['UnknownField nmae']],
    [
      'an unknown field deep inside',
      { schema_version: SCHEMA_VERSION, mutating_webhooks: [{}, { tls_config: { ca: 'x' } }] },
      ['UnknownField mutating_webhooks[1].tls_config.ca'],
    ],
    ['a wrong type', { schema_version: SCHEMA_VERSION, port: '80' }, ['InvalidType port']],
    ['a list', [], ['InvalidType ']],
    ['null', null, ['InvalidType ']],
  ])('refuses %s and reports its path', (_, json, problems) => {
    expect(refused(json)).toEqual(problems);
  });

  it('reports all problems at once', () => {
    expect(refused({ schema_version: SCHEMA_VERSION, port: 'a', debug: 'b', nope: 1 })).toHaveLength(3);
  });
});
