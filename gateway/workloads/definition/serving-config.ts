import type { Backend, BackendProcess, GatewayConfig, OutgoingEntry } from '../../contract/gateway-config.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { secretPath } from '../../contract/run-config/secret-path.ts';
import { readReference } from './run-config-of.ts';
import { webhookSecretsOf, webhooksWithSecretPaths } from './webhook-secrets.ts';

/** Run-time facts of a workload that its run configuration does not hold. */
export interface ServingFacts {
  /** URL of the HTTP server that runs here; absent for stdio and remote servers. */
  readonly serverUrl?: string;
  /** Process of a stdio server, with the values of its secrets; absent for the others. */
  readonly process?: BackendProcess;
  /** Values of forwarded headers that come from secrets. */
  readonly secretHeaders?: Readonly<Record<string, string>>;
  /** Allows private addresses for remote servers and issuers. */
  readonly allowPrivateIps?: boolean;
}

/** Networks from which `X-Forwarded-*` is used where a workload trusts it: this machine and private networks. */
const PROXIES = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/** A tool call may last this long: the client decides, and can cancel it. */
const CALL_TIMEOUT = '5m';

const OPERATIONAL: GatewayConfig['vmcp']['operational'] = {
  timeouts: { default: CALL_TIMEOUT },
  failure_handling: {
    health_check_interval: '10s',
    health_check_timeout: '10s',
    unhealthy_threshold: 3,
    circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
  },
};

/** Returns the backend name of a workload: its name as a DNS label. */
export function backendNameOf(name: string): string {
  const words = name
    .toLowerCase()
    .split(/[^a-z0-9]/u)
    .filter((word) => word !== '');
  const label = words.join('-').slice(0, 63).replace(/-$/u, '');
  return label === '' ? 'server' : label;
}

/** Members that the gateway reads as they are. */
const CONTROLS = [
  'audit_config',
  'audit_config_path',
  'authz_config',
  'rate_limit_config',
  'rate_limit_namespace',
  'telemetry_config',
] as const;

/**
 * Returns the configuration of the gateway that serves one workload: a virtual server with one backend. `config` has no
 * `middleware_configs` and no `authz_config_path` (see `effectiveConfig`). Secrets stand in it as paths of `secretPath`. Pure.
 */
export function servingConfigOf(config: RunConfig, facts: ServingFacts): GatewayConfig {
  const backend = backendOf(config, facts);
  const credential = credentialOf(config, backend);
  const oidc = oidcOf(config);
  const { embedded_auth_server_config: authServer, scaling_config: { session_kvstore: sessions } = {} } = config;
  return {
    schema_version: config.schema_version,
    ...pick(config, ['name', 'base_name', 'group', 'container_labels', 'debug', 'endpoint_prefix', 'stateless']),
    ...pick(config, CONTROLS),
    ...webhooksWithSecretPaths(config),
    ...(config.trust_proxy_headers && { trust_proxy_headers: true }),
    ...(sessions && { scaling_config: { session_kvstore: sessions } }),
    ...(oidc && { oidc_config: oidc }),
    ...(authServer && {
      embedded_auth_server_config: authServer,
    }),
    vmcp: {
      incoming: {
        ...(oidc ? { type: 'oidc', source: 'inline' } : { type: 'anonymous' }),
        ...(config.trust_proxy_headers && { trusted_proxies: PROXIES }),
      },
      backends: [backend],
      ...(credential && { outgoing_auth: { [backend.name]: credential } }),
      aggregation: aggregationOf(config, backend.name),
      operational: config.debug ? { ...OPERATIONAL, log_level: 'debug' } : OPERATIONAL,
    },
  };
}

function backendOf(config: RunConfig, facts: ServingFacts): Backend {
  const { name = '', remote_url: remote, transport, header_forward: forward, cli_ca_bundle: caBundle } = config;
  const backend = backendNameOf(name);
  if (!remote && transport === 'stdio')
    return { name: backend, transport: 'stdio', ...(facts.process && { process: facts.process }) };
  const headers = { ...forward?.add_plaintext_headers, ...facts.secretHeaders };
  return {
    name: backend,
    transport: transport === 'sse' ? 'sse' : 'streamable-http',
    url: remote ? remote : (facts.serverUrl ?? ''),
    ...(Object.keys(headers).length > 0 && { header_forward: { add_plaintext_headers: headers } }),
    ...(remote && caBundle && { ca_bundle_file: caBundle }),
    ...(!remote && hostHeaderOf(config, facts)),
    ...(remote ? privateAccess(facts) : { insecure_allow_http: true, allow_private_ips: true }),
  };
}

/**
 * Returns the `Host` for a server on this machine whose configuration names another host than the address at which it is called. Its port is
 * the one that the server listens on.
 */
function hostHeaderOf(
  { target_host: host = '', target_port: port = 0 }: RunConfig,
  { serverUrl = '' }: ServingFacts,
): Pick<Backend, 'host_header'> {
  const called = URL.parse(serverUrl);
  if (host === '' || host === called?.hostname) return {};
  const listens = port > 0 ? String(port) : (called?.port ?? '');
  return { host_header: `${host.includes(':') ? `[${host}]` : host}${listens === '' ? '' : `:${listens}`}` };
}

const privateAccess = ({ allowPrivateIps }: ServingFacts): Partial<Backend> =>
  allowPrivateIps ? { allow_private_ips: true } : {};

/** Returns the tokens that clients must send. An embedded authorization server issues them where nothing else is configured. */
function oidcOf(config: RunConfig): RunConfig['oidc_config'] {
  const { oidc_config: oidc, embedded_auth_server_config: authServer } = config;
  if (!oidc) {
    if (!authServer) return undefined;
    const [audience] = authServer.allowed_audiences ?? [];
    return { ...(authServer.issuer && { issuer: authServer.issuer }), ...(audience !== undefined && { audience }) };
  }
  const { clientSecret, ...others } = oidc;
  const secret = clientSecret === undefined ? undefined : readReference(clientSecret);
  return {
    ...others,
    ...(secret && { clientSecretFile: secretPath(secret.name) }),
    ...(config.jwks_auth_token_file && !oidc.authTokenFile && { authTokenFile: config.jwks_auth_token_file }),
    ...(config.cli_ca_bundle && !oidc.cacertPath && { cacertPath: config.cli_ca_bundle }),
  };
}

/** Returns the credential for the server. Users of an embedded authorization server send their upstream token unless it says otherwise. */
function credentialOf(config: RunConfig, { transport }: Backend): OutgoingEntry | undefined {
  const {
    token_exchange_config: exchange,
    upstream_swap_config: swap,
    cloud_sts_config: cloudSts,
    embedded_auth_server_config: authServer,
  } = config;
  if (exchange) {
    const { client_secret, ...others } = exchange;
    const secret = client_secret === undefined ? undefined : readReference(client_secret);
    return { type: 'token_exchange', ...others, ...(secret && { client_secret_file: secretPath(secret.name) }) };
  }
  if (cloudSts) return { type: 'cloud_sts', ...cloudSts };
  const provider = swap?.provider_name ?? authServer?.upstreams?.[0]?.name;
  const isOff = !authServer || authServer.disable_upstream_token_injection === true || transport === 'stdio';
  if (!swap && isOff) return undefined;
  return { type: 'upstream_inject', ...swap, provider_name: provider ?? 'default' };
}

/**
 * Returns the settings of the tools. A name in `tools_filter` is one that clients see, so a tool that is advertised under
 * another name no longer matches its own.
 */
function aggregationOf(
  { tools_filter: filter = [], tools_override: overrides = {} }: RunConfig,
  workload: string,
): GatewayConfig['vmcp']['aggregation'] {
  const originals = new Map(
    Object.entries(overrides).flatMap(([tool, { name }]) => (name ? [[name, tool] as const] : [])),
  );
  const isRenamed = (tool: string): boolean => Object.hasOwn(overrides, tool) && Boolean(overrides[tool]?.name);
  const chosen = filter.flatMap((name) => originals.get(name) ?? (isRenamed(name) ? [] : [name]));
  const settings = {
    workload,
    ...(filter.length > 0 && (chosen.length > 0 ? { filter: chosen } : { exclude_all: true })),
    ...(Object.keys(overrides).length > 0 && { overrides: withoutEmptyTexts(overrides) }),
  };
  return {
    conflict_resolution: 'none',
    prefix_format: '',
    default_tool_visibility: 'allow',
    ...(Object.keys(settings).length > 1 && { tools: [settings] }),
  };
}

/** Returns overrides without empty names and descriptions, which stand for the original ones. */
function withoutEmptyTexts(overrides: NonNullable<RunConfig['tools_override']>): typeof overrides {
  const texts = (override: object) => Object.fromEntries(Object.entries(override).filter(([, text]) => text !== ''));
  return Object.fromEntries(Object.entries(overrides).map(([tool, override]) => [tool, texts(override)]));
}

function pick<Key extends keyof RunConfig>(config: RunConfig, members: readonly Key[]): Pick<RunConfig, Key> {
  const present = members.filter((member) => config[member] !== undefined);
  return Object.fromEntries(present.map((member) => [member, config[member]])) as Pick<RunConfig, Key>;
}

/** Secret that a workload needs. */
export interface NeededSecret {
  readonly name: string;
  /** Member that names it. */
  readonly path: string;
  /** Its value must not be empty. */
  readonly isKey?: true;
}

/** Lists all secrets that a workload needs. */
export function secretsOf(config: RunConfig): NeededSecret[] {
  const referenced = [
    ...(config.secrets ?? []).map((text, index) => ({ text, path: `secrets[${String(index)}]` })),
    { text: config.oidc_config?.clientSecret, path: 'oidc.client_secret' },
    { text: config.token_exchange_config?.client_secret, path: 'token_exchange_config.client_secret' },
    { text: config.remote_auth_config?.client_secret, path: 'oauth_config.client_secret' },
    { text: config.remote_auth_config?.bearer_token, path: 'oauth_config.bearer_token' },
  ].flatMap(({ text, path }) => {
    const name = text === undefined ? undefined : readReference(text)?.name;
    return name === undefined ? [] : [{ name, path }];
  });
  const headers = Object.entries(config.header_forward?.add_headers_from_secret ?? {}).map(([header, name]) => ({
    name,
    path: `header_forward.add_headers_from_secret.${header}`,
  }));
  const keys = webhookSecretsOf(config).map((secret) => ({ ...secret, isKey: true as const }));
  return [...referenced, ...headers, ...keys];
}
