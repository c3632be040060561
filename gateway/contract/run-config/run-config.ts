import { Type, type Static } from 'typebox';
import { block, blockMap, blocks, duration, flag, text, textMap, texts, whole } from '../optional.ts';
import { PACKAGE_TEXT, packageOptions, WORKING_DIR_TEXT } from '../package-options.ts';
import { ClosedPermissionProfile } from '../container.ts';
import { AuditConfig } from './audit.ts';
import { cloudStsConfig, oidcConfig, remoteAuthConfig, tokenExchangeConfig, upstreamSwapConfig } from './auth.ts';
import { EmbeddedAuthServerConfig, SCHEMA_VERSION } from './auth-server.ts';
import { tls } from './auth-server-storage.ts';
import { telemetryConfig } from './telemetry.ts';

/** Members of one webhook. Beyond the specification: `claims`, `allow_private_ips`, `insecure_allow_http`. */
export const webhookMembers = {
  name: text('Name.'),
  url: text('URL of the webhook.'),
  timeout: whole('Timeout for the response, in nanoseconds.'),
  failure_policy: text('Outcome of a request while the webhook is unreachable.'),
  hmac_secret_ref: text('Name of the secret, or absolute path of the file, that signs the request.'),
  tls_config: block(
    'TLS to the webhook.',
    {
      ca_bundle_path: text('PEM certificates trusted in addition to the system roots.'),
      client_cert_path: text('Client certificate.'),
      client_key_path: text('Key of the client certificate.'),
      insecure_skip_verify: flag('Do not verify the certificate. Development only.'),
    },
    { title: 'WebhookTls' },
  ),
  claims: texts('Claims of the token that the webhook receives, beside `name`, `email` and `groups`.'),
  allow_private_ips: flag('Allow private addresses for the webhook.'),
  insecure_allow_http: flag('Allow an http URL for the webhook.'),
};

const webhooks = (description: string) => blocks(description, webhookMembers, {}, { title: 'Webhook' });

export { SCHEMA_VERSION };

const bucket = (description: string) =>
  block(
    description,
    {
      maxTokens: whole('Maximum number of calls in a burst.'),
      refillPeriod: duration('Time until an empty bucket is full again.'),
    },
    { title: 'RateLimit' },
  );

const server = {
  name: text('Name of the workload.'),
  base_name: text('Name used for state, logs and process files.'),
  container_name: text('Name of the container.'),
  group: text('Group of the workload.'),
  image: text('Container image, `npx://` or `uvx://` package, or `command://PROGRAM`; empty for a remote server.'),
  package: block(PACKAGE_TEXT, packageOptions),
  working_dir: text(WORKING_DIR_TEXT),
  remote_url: text('MCP endpoint of a remote server.'),
  registry_api_url: text('Registry API of the entry.'),
  registry_server_name: text('Name of the entry in the registry.'),
  registry_url: text('Registry file of the entry.'),
  cmd_args: texts('Arguments of the server.'),
  env_vars: textMap('Environment variables of the server.'),
  env_file_dir: text(
    'Folder of environment files, with NAME=VALUE lines. Read at each start; `env_vars` take precedence.',
  ),
  secrets: texts('Secrets of the server, each `NAME,target=ENVIRONMENT_VARIABLE`.'),
  volumes: texts('Mounts, each `host:container[:ro]`.'),
  publish: texts('Published ports, each `host:container`.'),
  container_labels: textMap('Labels of the container.'),
  runtime_config: block('Build of a container image from a package.', {
    additional_packages: texts('System packages added to the image.'),
    builder_image: text('Base image of the build.'),
  }),
  cluster_pod_template_patch: text('JSON merged into the pod template. Without effect outside a cluster.'),
  permission_profile: Type.Optional(ClosedPermissionProfile),
  permission_profile_name_or_path: text(
    'Name of a built-in permission profile, or the absolute path of a file with one.',
  ),
  isolate_network: flag('Limit the network access of the server to its permission profile.'),
  allow_container_gateway: flag('Allow an isolated server to connect to the container host.'),
  ignore_config: block('Files of a mount that are hidden from the server, beside those in its `.vmcpignore`.', {
    loadGlobal: flag('Also read the user’s ignore file, `~/.config/vmcp/ignore`.'),
    printOverlays: flag('Write the hidden paths to the log.'),
  }),
};

const endpoint = {
  transport: text('Transport of the server: `stdio`, `sse` or `streamable-http`.'),
  proxy_mode: text('Transport through which a stdio server is exposed: `sse` or `streamable-http`.'),
  host: text('Address of the listener.'),
  port: whole('Port of the listener.'),
  target_host: text('Host of the server: that of its URL, or the loopback name in `Host` of the requests to it.'),
  target_port: whole('Port that the server listens on.'),
  endpoint_prefix: text('Path prefix of SSE endpoint URLs.'),
  stateless: flag('The server keeps no sessions and answers POST only.'),
  trust_proxy_headers: flag('Use X-Forwarded-* headers.'),
  header_forward: block('Headers sent on every request to a remote server.', {
    add_headers_from_secret: textMap('Header name to the name of the secret that holds its value.'),
    add_plaintext_headers: textMap('Header name to value.'),
  }),
  tools_filter: texts('Advertise these tools only.'),
  tools_override: blockMap('Tools advertised under another name or description, by original name.', {
    name: text('Advertised name of the tool.'),
    description: text('Advertised description of the tool.'),
  }),
  scaling_config: block('Replicas and their shared storage.', {
    backend_replicas: whole(
      'Number of pods of the server. Without it an autoscaler sets the number. Outside a cluster there is one server.',
    ),
    session_kvstore: block(
      'Key-value store of sessions and rate limits. Defaults to that of the authorization server.',
      {
        address: text('host:port.'),
        db: whole('Database number.'),
        key_prefix: text('Prefix of every key.'),
        password_file: text('Path of the file that holds the password.'),
        tls: tls('TLS for connections to the store. `{}` trusts the system roots. No TLS when absent.'),
      },
    ),
  }),
};

const auth = {
  oidc_config: oidcConfig,
  jwks_auth_token_file: text('Path of the file whose bearer token is sent to the key set endpoint.'),
  cli_ca_bundle: text('PEM certificates trusted in addition to the system roots.'),
  remote_auth_config: remoteAuthConfig,
  token_exchange_config: tokenExchangeConfig,
  upstream_swap_config: upstreamSwapConfig,
  cloud_sts_config: cloudStsConfig,
  embedded_auth_server_config: Type.Optional(EmbeddedAuthServerConfig),
};

const policy = {
  authz_config: block('Authorization of requests.', {
    type: text('Kind of policy.'),
    version: text('Version of the policy format.'),
    cedar: block('Cedar policies.', {
      policies: texts('Cedar policies.'),
      entities_json: text('Static Cedar entities, as a JSON array.'),
      group_claim_name: text('Claim that holds the groups.'),
      role_claim_name: text('Claim that holds the roles.'),
      group_entity_type: text('Cedar entity type of groups. Defaults to `Group`.'),
      primary_upstream_provider: text(
        'Upstream provider whose stored token gives the claims, in place of the gateway’s token.',
      ),
    }),
  }),
  authz_config_path: text('File that holds the policy.'),
  rate_limit_config: block('Rate limits for tool calls.', {
    storeUnavailable: text('Outcome of calls while the key-value store is down: `open` or `closed`.'),
    perUser: bucket('Limit for each user.'),
    shared: bucket('Limit for all users together.'),
    tools: blocks('Limits for individual tools.', {
      name: text('Name of the tool.'),
      perUser: bucket('Limit for each user.'),
      shared: bucket('Limit for all users together.'),
    }),
  }),
  rate_limit_namespace: text('Prefix of the bucket keys.'),
  mutating_webhooks: webhooks('Webhooks that may change a request before it is forwarded.'),
  validating_webhooks: webhooks('Webhooks that may reject a request before it is forwarded.'),
  middleware_configs: blocks('Middlewares, the outermost first.', {
    type: text('Name of the middleware.'),
    parameters: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'Parameters of the middleware.' }),
    ),
  }),
};

const observation = {
  debug: flag('Log debug messages.'),
  audit_config: Type.Optional(AuditConfig),
  audit_config_path: text('JSON file that holds the members of `audit_config`.'),
  telemetry_config: telemetryConfig,
};

/**
 * Run configuration of one MCP server: the reply of "Export workload configuration", and the part of the gateway's
 * configuration that does not concern aggregation. Beyond the specification: `*_file`, `clientSecretFile`,
 * `headerFiles`, `subject_provider_name`, and members of webhooks.
 */
export const RunConfig = Type.Object(
  {
    schema_version: Type.Enum([SCHEMA_VERSION], { description: 'Version of this document.' }),
    ...server,
    ...endpoint,
    ...auth,
    ...policy,
    ...observation,
  },
  { additionalProperties: false, description: 'Run configuration of one MCP server.' },
);

export type RunConfig = Static<typeof RunConfig>;
