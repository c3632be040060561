import { timerFault } from './fields.ts';
import type { Backend, GatewayConfig, Operational } from './gateway-config.ts';
import { isHeaderValue, isProtocolHeader } from './header-names.ts';
import { incomingProblems } from './incoming-rules.ts';
import type { Problem } from './problem.ts';
import { HEADER_NAME_PATTERN, isEncrypted, isRestricted, RESTRICTED_MESSAGE } from './rule.ts';

/**
 * Members that the gateway acts on, or that only say what a workload is called. Every other member of the Run
 * configuration is a control that is not built: with it nothing is served. Building one adds its name.
 */
const BUILT: ReadonlySet<string> = new Set<keyof GatewayConfig>([
  'schema_version',
  'name',
  'base_name',
  'container_name',
  'container_labels',
  'group',
  'debug',
  'oidc_config',
  'embedded_auth_server_config',
  'trust_proxy_headers',
  'vmcp',
]);

/** What the schema of a gateway's configuration cannot say. */
export function gatewayConfigProblems(config: GatewayConfig): Problem[] {
  const { backends, operational, passthrough_headers: passthrough = [] } = config.vmcp;
  return [
    ...unbuiltMembers(config),
    ...incomingProblems(config),
    ...repeatedNames(backends),
    ...backends.flatMap((backend, index) => backendProblems(backend, `vmcp.backends[${String(index)}]`)),
    ...priorityProblems(config),
    ...durationProblems(operational, config.vmcp.session_ttl),
    ...passthrough.flatMap((name, index) => headerNameProblems(name, `vmcp.passthrough_headers[${String(index)}]`)),
  ];
}

const unbuiltMembers = (config: GatewayConfig): Problem[] =>
  Object.entries(config)
    .filter(([name, value]: [string, unknown]) => value !== undefined && !BUILT.has(name))
    .map(([name]) => ({
      reason: 'NotSupportedYet',
      path: name,
      message: `the gateway does not act on ${name} yet: remove it; nothing is served, so that nothing is open by mistake`,
    }));

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
  const { transport, url, process, header_forward: forward, insecure_allow_http: allowHttp } = backend;
  const problems: Problem[] = [];
  if (transport === 'stdio' ? process === undefined : url === undefined) {
    const member = transport === 'stdio' ? 'process' : 'url';
    const message = `a backend of transport ${transport} needs "${member}"`;
    problems.push({ reason: 'MissingField', path: `${path}.${member}`, message });
  }
  if (url !== undefined && !URL.canParse(url)) {
    problems.push({ reason: 'InvalidUrl', path: `${path}.url`, message: 'this is no URL: write https://HOST/PATH' });
  } else if (url !== undefined && allowHttp !== true && !isEncrypted(url)) {
    const message = `http is not encrypted: use https, or set ${path}.insecure_allow_http: true`;
    problems.push({ reason: 'InsecureUrl', path: `${path}.url`, message });
  }
  for (const [name, value] of Object.entries(forward?.add_plaintext_headers ?? {})) {
    const here = `${path}.header_forward.add_plaintext_headers.${name}`;
    problems.push(...headerNameProblems(name, here));
    if (isHeaderValue(value)) continue;
    const message = 'the value holds a line break or another character that no header may hold: remove it';
    problems.push({ reason: 'InvalidHeaderValue', path: here, message });
  }
  for (const name of Object.keys(forward?.add_headers_from_file ?? {})) {
    problems.push(...headerNameProblems(name, `${path}.header_forward.add_headers_from_file.${name}`));
  }
  return problems;
}

function headerNameProblems(name: string, path: string): Problem[] {
  if (!new RegExp(HEADER_NAME_PATTERN).test(name)) {
    return [{ reason: 'InvalidValue', path, message: `"${name}" is not the name of a header: correct it` }];
  }
  if (isProtocolHeader(name)) {
    return [{ reason: 'RestrictedHeader', path, message: `"${name}" is written by the protocol itself: remove it` }];
  }
  if (!isRestricted(name)) return [];
  return [{ reason: 'RestrictedHeader', path, message: `${RESTRICTED_MESSAGE}: remove "${name}"` }];
}

function priorityProblems({ vmcp }: GatewayConfig): Problem[] {
  const { conflict_resolution: strategy, priority_order: order = [] } = vmcp.aggregation;
  if (strategy !== 'priority' || order.length > 0) return [];
  const message = 'priority_order is required when conflict_resolution is priority: name the backends, the first wins';
  return [{ reason: 'RuleViolated', path: 'vmcp.aggregation.priority_order', message }];
}

function durationProblems({ timeouts, failure_handling: failures }: Operational, ttl: string | undefined): Problem[] {
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
  });
  return timers.flatMap(([path, text]): Problem[] => {
    const message = text === undefined ? undefined : timerFault(text);
    return message === undefined ? [] : [{ reason: 'InvalidDuration', path, message }];
  });
}
