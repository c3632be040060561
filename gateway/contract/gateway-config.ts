import { Type, type Static } from 'typebox';
import { Aggregation } from './aggregation/aggregation.ts';
import { ContainerOptions } from './container.ts';
import { Closed, DnsLabel, Duration, HttpUrl } from './fields.ts';
import { HOST_PATTERN } from './reserved-names.ts';
import { LOG_LEVELS } from './logger.ts';
import { block, text } from './optional.ts';
import { PACKAGE_TEXT, packageOptions, WORKING_DIR_TEXT } from './package-options.ts';
import { EmbeddedAuthServerConfig } from './run-config/auth-server.ts';
import { openStorage } from './run-config/auth-server-storage.ts';
import { RunConfig } from './run-config/run-config.ts';

const Strings = (description: string) => Type.Array(Type.String(), { description });
const StringMap = (description: string) => Type.Record(Type.String(), Type.String(), { description });
const Bool = (description: string) => Type.Optional(Type.Boolean({ description }));

/** Process of a backend without a URL: a package, a program of this machine or an OCI image. */
export const BackendProcess = Closed(
  {
    image: Type.String({
      minLength: 1,
      description: '`npx://PACKAGE[@VERSION]`, `uvx://PACKAGE[==VERSION]`, `command://PROGRAM` or an OCI image.',
    }),
    args: Type.Optional(Strings('Arguments of the server, as written.')),
    env_vars: Type.Optional(StringMap('Environment of the server, by name.')),
    env_var_files: Type.Optional(StringMap('Environment of the server whose value stands in a file: name to path.')),
    target_port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65535, description: 'Port that the server listens on.' }),
    ),
    container: Type.Optional(ContainerOptions),
    package: block(PACKAGE_TEXT, packageOptions),
    working_dir: text(WORKING_DIR_TEXT),
  },
  { description: 'A server that the gateway runs itself.' },
);

/** Server in a container beside the gateway, reached by attaching to its standard streams. */
const BackendAttach = Closed(
  {
    pod: Type.String({ minLength: 1, description: 'Pod of the server, in `vmcp.namespace`.' }),
    container: DnsLabel('Container whose standard input and output are the server’s.'),
  },
  { description: 'stdio: a container that is attached to, through the API server.' },
);

export const Backend = Closed({
  name: DnsLabel('Name of the MCPServer or MCPServerEntry; what `{workload}` stands for.'),
  transport: Type.Enum(['streamable-http', 'sse', 'stdio'], { description: 'Transport of the backend.' }),
  url: Type.Optional(HttpUrl('MCP endpoint; absent for stdio.')),
  process: Type.Optional(BackendProcess),
  attach: Type.Optional(BackendAttach),
  isolation: Type.Optional(
    Type.Enum(['principal', 'session', 'shared'], {
      default: 'principal',
      description: 'stdio: sessions that share one child process.',
    }),
  ),
  max_processes: Type.Optional(
    Type.Integer({ minimum: 1, default: 16, description: 'stdio: most child processes at once.' }),
  ),
  header_forward: Type.Optional(
    Closed(
      {
        add_plaintext_headers: Type.Optional(StringMap('Header name to value.')),
        add_headers_from_file: Type.Optional(StringMap('Header name to the path of the file that holds its value.')),
      },
      { description: 'Headers sent on every request to this backend.' },
    ),
  ),
  host_header: Type.Optional(
    Type.String({
      pattern: HOST_PATTERN,
      maxLength: 255,
      description: '`Host` header of every request, where it differs from the host and port of `url`.',
    }),
  ),
  ca_bundle_file: Type.Optional(
    Type.String({ description: 'PEM certificates trusted for this backend in addition to the system roots.' }),
  ),
  allow_private_ips: Bool('Allow private addresses for this backend.'),
  insecure_allow_http: Bool('Allow an http URL for this backend.'),
  per_replica: Bool(
    'Each replica of the gateway has its own instance of this backend, so a session at it is not for other replicas.',
  ),
});

export const Operational = Closed({
  log_level: Type.Optional(Type.Enum([...LOG_LEVELS], { description: 'Lowest level of the log lines.' })),
  timeouts: Closed({
    default: Duration('Timeout for a response of a backend.'),
    backend_init: Type.Optional(Duration('Timeout for opening a backend.')),
    per_workload: Type.Optional(Type.Record(Type.String(), Duration('Timeout for this backend. Overrides `default`.'))),
  }),
  failure_handling: Closed({
    health_check_interval: Duration('Interval between two probes of a backend.'),
    health_check_timeout: Duration('Timeout for a probe.'),
    unhealthy_threshold: Type.Integer({
      minimum: 1,
      description: 'Number of consecutive failed probes after which a backend is unhealthy.',
    }),
    partial_failure_mode: Type.Optional(
      Type.Enum(['fail', 'best_effort'], {
        description: 'fail: lists answer an error while a backend is unavailable.',
      }),
    ),
    circuit_breaker: Closed({
      enabled: Type.Boolean({ description: 'Enable the circuit breaker.' }),
      failure_threshold: Type.Integer({
        minimum: 1,
        description: 'Number of consecutive failures that open the circuit.',
      }),
      timeout: Duration('Time until the open circuit lets one trial call through.'),
    }),
  }),
  list_changed: Type.Optional(
    Closed({
      enabled: Bool('Subscribe to `list_changed` of backends.'),
      disabled_workloads: Type.Optional(Strings('Names of backends without a subscription.')),
    }),
  ),
});

const Introspection = Closed(
  {
    tokens: Type.Optional(
      Type.Enum(['opaque', 'all'], {
        default: 'opaque',
        description: 'Tokens that are introspected: those that are no signed JWT, or all.',
      }),
    ),
    cache_ttl: Type.Optional(
      Duration('Time for which a response that accepts a token is cached, from 0s to 5m.', { default: '60s' }),
    ),
    allow_missing_audience: Bool('Accept responses without `aud`.'),
    subject_claim: Type.Optional(
      Type.String({ minLength: 1, default: 'sub', description: 'Member of the response that identifies the user.' }),
    ),
  },
  { description: 'inline: how tokens are introspected.' },
);

export const Incoming = Closed({
  type: Type.String({
    description:
      'Mode. anonymous: no credentials, no access control. oidc: a bearer token that `oidc_config` describes.',
  }),
  config: Type.Optional(
    Type.Unsafe<object>(Type.Object({}, { additionalProperties: true, description: 'Members of the mode.' })),
  ),
  source: Type.Optional(
    Type.Enum(['inline', 'kubernetes'], {
      default: 'inline',
      description: 'inline: an external issuer. kubernetes: service account tokens of the cluster.',
    }),
  ),
  required_scopes: Type.Optional(Strings('Scopes that every token must have.')),
  clock_skew_seconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 300, default: 30, description: 'Tolerance for `exp`, `nbf` and `iat`.' }),
  ),
  require_client_id: Bool('Refuse tokens whose `azp` or `client_id` is not `oidc_config.clientID`.'),
  introspection: Type.Optional(Introspection),
  service_account: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'kubernetes: accept tokens of this service account only. A bare name is of `namespace`, else of `vmcp.namespace`.',
    }),
  ),
  namespace: Type.Optional(DnsLabel('kubernetes: accept tokens of this namespace only.')),
  use_cluster_auth: Type.Optional(
    Type.Boolean({ default: true, description: 'kubernetes: use the pod’s CA file and token towards the API server.' }),
  ),
  allowed_origins: Type.Optional(Strings('Origins that browsers may call from, beside that of this server.')),
  allowed_hosts: Type.Optional(Strings('Host names that requests may have in `Host`.')),
  trusted_proxies: Type.Optional(
    Strings('Networks of trusted proxies, whose `X-Forwarded-For` is used, such as 10.0.0.0/8.'),
  ),
});

/** Credential of one backend; its members are the `config` of the strategy that `type` names. */
export interface OutgoingEntry {
  /** The strategy's type in snake_case. */
  readonly type: string;
  readonly [member: string]: unknown;
}

/** `readGatewayConfig` checks the other members by the registry of strategies. */
const OutgoingEntry = Type.Unsafe<OutgoingEntry>(
  Type.Object(
    { type: Type.String({ description: 'Authentication strategy.' }) },
    { additionalProperties: true, description: 'Strategy and its members.' },
  ),
);

/** Objects that a gateway in a pod watches and reports to, both in `vmcp.namespace`. */
export const Cluster = Closed(
  {
    backends_config_map: Type.String({
      minLength: 1,
      description: 'ConfigMap whose key `backends.json` holds the backends and the credentials for them.',
    }),
    virtual_mcp_server: Type.String({ minLength: 1, description: 'VirtualMCPServer that gets the status reports.' }),
    reporting_interval: Duration('Minimum interval between two status reports.'),
    mounted_folders: Type.Optional(
      Strings('Folders that may contain the files of the configuration. Defaults to those that the operator mounts.'),
    ),
  },
  { description: 'The backends are not in this document: they come from a ConfigMap, also while the gateway runs.' },
);

/** Members of an aggregating gateway in addition to the Run configuration. */
export const Vmcp = Closed({
  namespace: Type.Optional(Type.String({ description: 'Namespace of the VirtualMCPServer.' })),
  incoming: Incoming,
  backends: Type.Array(Backend, { description: 'Sorted by name.' }),
  outgoing_auth: Type.Optional(
    Type.Record(Type.String(), OutgoingEntry, {
      description: 'Credentials by name of the backend. A backend without an entry gets none.',
    }),
  ),
  aggregation: Aggregation,
  operational: Operational,
  passthrough_headers: Type.Optional(Strings('Client headers copied to every backend request.')),
  older_version_header_clients: Type.Optional(
    Strings('Clients, by `clientInfo.name`, whose `MCP-Protocol-Version` may be older than the revision of the body.'),
  ),
  metadata: Type.Optional(StringMap('Arbitrary text values by name, shown in `/status`.')),
  session_ttl: Type.Optional(Duration('Idle time after which a session ends.')),
  store_name: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Name in the keys of stores. Defaults to `name`, and is unique in the namespace.',
    }),
  ),
  session_storage: Type.Optional(
    Type.Enum(['memory'], {
      description: 'Keeps sessions in the memory of this process although there is a store that replicas share.',
    }),
  ),
  cluster: Type.Optional(Cluster),
});

const authServer = Type.Optional(
  Closed(
    { ...EmbeddedAuthServerConfig.properties, storage: openStorage },
    { description: 'Authorization server inside the gateway.' },
  ),
);

/** Configuration document of a gateway. It names secrets by file path only. */
export const GatewayConfig = Type.Object(
  { ...RunConfig.properties, embedded_auth_server_config: authServer, vmcp: Vmcp },
  { additionalProperties: false, description: 'Run configuration of an aggregating gateway.' },
);

export type Backend = Static<typeof Backend>;
export type BackendAttach = Static<typeof BackendAttach>;
export type BackendProcess = Static<typeof BackendProcess>;
export type Cluster = Static<typeof Cluster>;
export type Incoming = Static<typeof Incoming>;
export type Operational = Static<typeof Operational>;
export type GatewayConfig = Static<typeof GatewayConfig>;
