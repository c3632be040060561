import { timerFault } from './fields.ts';
import type { Backend, GatewayConfig, OutgoingEntry } from './gateway-config.ts';
import { headerNameProblems, isHeaderValue } from './reserved-names.ts';
import { networkFault } from './addresses.ts';
import type { Problem } from './problem.ts';
import { isEncrypted, OWN_CREDENTIAL } from './rule.ts';
import { telemetryProblems } from './run-config/telemetry.ts';
import { auditProblems } from './run-config/audit.ts';

/**
 * Members that the gateway acts on, or that only say what a workload is called. Every other member of the Run
 * configuration is a control that is not built: with it nothing is served. Building one adds its name.
 */
const BUILT: ReadonlySet<string> = new Set<keyof GatewayConfig>([
  'schema_version',
  'name',
  'audit_config',
  'audit_config_path',
  'base_name',
  'container_name',
  'container_labels',
  'group',
  'debug',
  'endpoint_prefix',
  'stateless',
  'telemetry_config',
  'oidc_config',
  'scaling_config',
  'embedded_auth_server_config',
  'trust_proxy_headers',
  'vmcp',
]);

/**
 * Lists problems that the schema of a gateway's configuration cannot express. `policyMembers` are the members that
 * policies read in it.
 */
export function gatewayConfigProblems(config: GatewayConfig, policyMembers: readonly string[] = []): Problem[] {
  const { backends, passthrough_headers: passthrough = [] } = config.vmcp;
  return [
    ...unbuiltMembers(config, policyMembers),
    ...auditProblems(config),
    ...proxyProblems(config),
    ...repeatedNames(backends),
    ...backends.flatMap((backend, index) => backendProblems(backend, `vmcp.backends[${String(index)}]`)),
    ...clusterProblems(config),
    ...priorityProblems(config),
    ...durationProblems(config.vmcp),
    ...telemetryProblems(config.telemetry_config),
    ...passthrough.flatMap((name, index) => headerNameProblems(name, `vmcp.passthrough_headers[${String(index)}]`)),
  ];
}

const unbuiltMembers = (config: GatewayConfig, policyMembers: readonly string[]): Problem[] =>
  Object.entries(config)
    .filter(([name, value]: [string, unknown]) => value !== undefined && !BUILT.has(name))
    .filter(([name]) => !policyMembers.includes(name))
    .map(([name]) => ({
      reason: 'NotSupportedYet',
      path: name,
      message: `the gateway does not act on ${name} yet: remove it; nothing is served, so that nothing is open by mistake`,
    }));

/** Clients can send any `X-Forwarded-For`: only that of a listed proxy counts. */
function proxyProblems({ trust_proxy_headers: trusted, vmcp }: GatewayConfig): Problem[] {
  const { trusted_proxies: proxies = [] } = vmcp.incoming;
  const path = 'vmcp.incoming.trusted_proxies';
  if (trusted === true && proxies.length === 0) {
    const message =
      'trust_proxy_headers needs the networks of the proxies, as anybody can send such headers: list them';
    return [{ reason: 'MissingField', path, message }];
  }
  return proxies.flatMap((network, index): Problem[] => {
    const message = networkFault(network);
    return message === undefined ? [] : [{ reason: 'InvalidNetwork', path: `${path}[${String(index)}]`, message }];
  });
}

function repeatedNames(backends: readonly Backend[]): Problem[] {
  const names = backends.map(({ name }) => name);
  return names.flatMap((name, index) =>
    names.indexOf(name) === index
      ? []
      : [
          {
            reason: 'BackendNameConflict',
            path: `vmcp.backends[${String(index)}].name`,
            message: `two backends are named "${name}": rename one`,
          },
        ],
  );
}

function backendProblems(backend: Backend, path: string): Problem[] {
  const { transport, url, process, attach, header_forward: forward, insecure_allow_http: allowHttp } = backend;
  const problems: Problem[] = attach === undefined ? [] : attachProblems(backend, path);
  if (transport === 'stdio' ? (process ?? attach) === undefined : url === undefined) {
    const member = transport === 'stdio' ? 'process' : 'url';
    const message = `a backend of transport ${transport} needs "${member}"`;
    problems.push({ reason: 'MissingField', path: `${path}.${member}`, message });
  }
  if (url !== undefined && !URL.canParse(url)) {
    problems.push({ reason: 'InvalidUrl', path: `${path}.url`, message: 'not a URL: write https://HOST/PATH' });
  } else if (url !== undefined && allowHttp !== true && !isEncrypted(url)) {
    const message = `http is not encrypted: use https, or set ${path}.insecure_allow_http: true`;
    problems.push({ reason: 'InsecureUrl', path: `${path}.url`, message });
  }
  if (transport === 'stdio' && backend.host_header !== undefined) {
    const message = 'a stdio server gets no HTTP requests: remove it, or correct transport';
    problems.push({ reason: 'HttpOnly', path: `${path}.host_header`, message });
  }
  for (const [name, value] of Object.entries(forward?.add_plaintext_headers ?? {})) {
    const here = `${path}.header_forward.add_plaintext_headers.${name}`;
    problems.push(...headerNameProblems(name, here));
    if (isHeaderValue(value)) continue;
    const message = 'the value contains a line break or another character that a header must not contain: remove it';
    problems.push({ reason: 'InvalidHeaderValue', path: here, message });
  }
  for (const name of Object.keys(forward?.add_headers_from_file ?? {})) {
    problems.push(...headerNameProblems(name, `${path}.header_forward.add_headers_from_file.${name}`, OWN_CREDENTIAL));
  }
  return problems;
}

/** Lists problems of an attached backend: its container has a single standard input. */
function attachProblems({ transport, url, process, isolation, max_processes: most }: Backend, path: string): Problem[] {
  const breaches = [
    [transport !== 'stdio', 'attach', 'only a stdio server is attached to: set transport: stdio, or remove attach'],
    [url !== undefined, 'url', 'a server is reached by url or by attach: remove one of them'],
    [
      process !== undefined,
      'process',
      'a server is started by process or there already for attach: remove one of them',
    ],
    [isolation !== 'shared', 'isolation', 'all sessions use the one standard input of the container: set it to shared'],
    [most !== undefined, 'max_processes', 'the container is the one process there is: remove it'],
  ] as const;
  return breaches.flatMap(([isBroken, member, message]) =>
    isBroken ? [{ reason: 'RuleViolated', path: `${path}.${member}`, message }] : [],
  );
}

/** Requires a namespace for names in the cluster, and backends in only one place. */
function clusterProblems({ vmcp }: GatewayConfig): Problem[] {
  const { cluster, namespace, backends, outgoing_auth: credentials } = vmcp;
  const attached = backends.findIndex(({ attach }) => attach !== undefined);
  const user = cluster ? 'vmcp.cluster' : `vmcp.backends[${String(attached)}].attach`;
  const problems: Problem[] = [];
  if (namespace === undefined && (cluster !== undefined || attached >= 0)) {
    const message = `${user} names objects of a namespace: set vmcp.namespace`;
    problems.push({ reason: 'MissingField', path: 'vmcp.namespace', message });
  }
  if (!cluster) return problems;
  const message = `with vmcp.cluster this is read from ConfigMap ${cluster.backends_config_map}: remove it here`;
  if (backends.length > 0) problems.push({ reason: 'RuleViolated', path: 'vmcp.backends', message });
  if (credentials !== undefined) problems.push({ reason: 'RuleViolated', path: 'vmcp.outgoing_auth', message });
  if (vmcp.aggregation.backend_tools !== undefined)
    problems.push({ reason: 'RuleViolated', path: 'vmcp.aggregation.backend_tools', message });
  return problems;
}

function priorityProblems({ vmcp }: GatewayConfig): Problem[] {
  const { conflict_resolution: strategy, priority_order: order = [] } = vmcp.aggregation;
  if (strategy !== 'priority' || order.length > 0) return [];
  const message = 'priority_order is required when conflict_resolution is priority: name the backends, the first wins';
  return [{ reason: 'RuleViolated', path: 'vmcp.aggregation.priority_order', message }];
}

function durationProblems({ operational, session_ttl: ttl, cluster }: GatewayConfig['vmcp']): Problem[] {
  const { timeouts, failure_handling: failures } = operational;
  const timers = Object.entries({
    'vmcp.operational.timeouts.default': timeouts.default,
    'vmcp.operational.timeouts.backend_init': timeouts.backend_init,
    ...Object.fromEntries(
      Object.entries(timeouts.per_workload ?? {}).map(([name, timeout]) => [
        `vmcp.operational.timeouts.per_workload.${name}`,
        timeout,
      ]),
    ),
    'vmcp.operational.failure_handling.health_check_interval': failures.health_check_interval,
    'vmcp.operational.failure_handling.health_check_timeout': failures.health_check_timeout,
    'vmcp.operational.failure_handling.circuit_breaker.timeout': failures.circuit_breaker.timeout,
    'vmcp.session_ttl': ttl,
    'vmcp.cluster.reporting_interval': cluster?.reporting_interval,
  });
  return timers.flatMap(([path, text]): Problem[] => {
    const message = text === undefined ? undefined : timerFault(text);
    return message === undefined ? [] : [{ reason: 'InvalidDuration', path, message }];
  });
}

/** Requirements of a strategy. */
interface StrategyNeeds {
  /** A caller whose credential was verified. */
  readonly user: boolean;
  /** Tokens that logins at the embedded authorization server leave behind. */
  readonly authServer: boolean;
  /** The transport streamable-http. */
  readonly streamableHttp: boolean;
}

/** Members of an entry that name an upstream provider. */
const PROVIDER_MEMBERS = ['provider_name', 'subject_provider_name'] as const;

/**
 * Lists conflicts between `vmcp.outgoing_auth` and the rest of a configuration. `needs` maps the name of a strategy
 * in the document to its requirements; each strategy checks its own members.
 */
export function outgoingProblems(
  config: GatewayConfig,
  needs: ReadonlyMap<string, StrategyNeeds>,
  hasUsers: boolean,
): Problem[] {
  return Object.entries(config.vmcp.outgoing_auth ?? {}).flatMap(([backend, entry]) => {
    const path = `vmcp.outgoing_auth.${backend}`;
    const need = needs.get(entry.type) ?? { user: false, authServer: false, streamableHttp: false };
    return [
      ...placeProblems(config, [backend, entry], need, path),
      ...(hasUsers ? [] : userProblems(config, entry, need, path)),
      ...providerProblems(config, entry, need, path),
    ];
  });
}

function placeProblems(
  { vmcp }: GatewayConfig,
  [name, { type }]: readonly [string, OutgoingEntry],
  need: StrategyNeeds,
  path: string,
): Problem[] {
  const backend = vmcp.backends.find((each) => each.name === name);
  if (!backend) {
    const message = `there is no backend "${name}", so nothing would get this credential: correct the name`;
    return [{ reason: 'UnknownBackend', path, message }];
  }
  if (backend.transport === 'stdio' && type !== 'unauthenticated') {
    const message = 'a stdio server has no HTTP requests that could carry a credential: remove this entry';
    return [{ reason: 'OutgoingAuthOnStdio', path, message }];
  }
  if (backend.transport !== 'sse' || !need.streamableHttp) return [];
  const message = `strategy ${type} signs each request, which the transport sse cannot: use streamable-http`;
  return [{ reason: 'OutgoingAuthOnSse', path, message }];
}

function userProblems({ vmcp }: GatewayConfig, { type }: OutgoingEntry, need: StrategyNeeds, path: string): Problem[] {
  if (!need.user) return [];
  const message = `strategy ${type} needs a caller, and vmcp.incoming.type ${vmcp.incoming.type} has none: set it to oidc`;
  return [{ reason: 'OutgoingAuthNeedsUser', path: `${path}.type`, message }];
}

function providerProblems(
  { embedded_auth_server_config: server }: GatewayConfig,
  entry: OutgoingEntry,
  need: StrategyNeeds,
  path: string,
): Problem[] {
  const named = PROVIDER_MEMBERS.filter((member) => typeof entry[member] === 'string');
  if (!server) {
    if (!need.authServer && named.length === 0) return [];
    const message =
      'only a login at the embedded authorization server leaves upstream tokens: set embedded_auth_server_config';
    return [{ reason: 'OutgoingAuthNeedsAuthServer', path: `${path}.${named[0] ?? 'type'}`, message }];
  }
  if (server.disable_upstream_token_injection === true && (need.authServer || named.length > 0)) {
    const message =
      'tokens of upstream providers are kept in while embedded_auth_server_config.disable_upstream_token_injection is true: remove that, or this entry';
    return [{ reason: 'UpstreamTokensDisabled', path, message }];
  }
  const providers = (server.upstreams ?? []).map(({ name }) => name);
  return named
    .filter((member) => !providers.includes(String(entry[member])))
    .map((member) => ({
      reason: 'UpstreamProviderUnknown',
      path: `${path}.${member}`,
      message: `no upstream provider has this name (known: ${providers.join(', ') || 'none'}): correct it`,
    }));
}
