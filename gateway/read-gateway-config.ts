import { providerNames } from './authserver/read-settings.ts';
import { authServerProblems } from './authserver/config-problems.ts';
import { DiscoveredBackends } from './contract/discovered-backends.ts';
import { GatewayConfig } from './contract/gateway-config.ts';
import { gatewayConfigProblems, outgoingProblems } from './contract/gateway-config-rules.ts';
import { mountProblems, startedBackends } from './contract/gateway-config-files.ts';
import type { Problem } from './contract/problem.ts';
import { readDocument } from './contract/run-config/document.ts';
import { hasUsers, incomingProblems } from './incoming/index.ts';
import { readOutgoingEntry, STRATEGIES } from './outgoing/index.ts';
import { fileType } from './outgoing/strategy.ts';
import { policyMembers, policyProblems } from './policy/index.ts';
import { sharedStoreProblems } from './shared-store.ts';

type Read = { readonly config: GatewayConfig } | { readonly problems: Problem[] };

/** Reads a rendered configuration. It is valid as a whole or rejected. Paths are JSON paths in the document. */
export function readGatewayConfig(text: string): Read {
  const parsed = parse(text, 'the file');
  return 'problems' in parsed ? parsed : checkGatewayConfig(parsed.json);
}

/**
 * Merges a configuration with `vmcp.cluster` and the document of its backends. Applies the same rules as to a
 * configuration that holds them itself, with the same paths.
 */
export function withDiscoveredBackends(base: GatewayConfig, text: string): Read {
  const parsed = parse(text, 'the document');
  if ('problems' in parsed) return parsed;
  const document = readDocument(DiscoveredBackends, parsed.json);
  if ('problems' in document) {
    return { problems: document.problems.map((problem) => ({ ...problem, path: placeOf(problem.path) })) };
  }
  const { backends, outgoing_auth: credentials, backend_tools: rules } = document.config;
  const { cluster, ...vmcp } = base.vmcp;
  const whole = {
    ...base,
    vmcp: {
      ...vmcp,
      backends,
      ...(credentials && { outgoing_auth: credentials }),
      aggregation: { ...vmcp.aggregation, ...(rules && { backend_tools: rules }) },
    },
  };
  const read = checkGatewayConfig(whole);
  if ('problems' in read || !cluster) return read;
  const config = { ...read.config, vmcp: { ...read.config.vmcp, cluster } };
  const problems = [...startedBackends(config), ...mountProblems(config)];
  return problems.length > 0 ? { problems } : { config };
}

function placeOf(path: string): string {
  if (path.startsWith('backend_tools')) return `vmcp.aggregation.${path}`;
  return /^(?:backends|outgoing_auth)/u.test(path) ? `vmcp.${path}` : path;
}

function parse(text: string, what: string): { readonly json: unknown } | { readonly problems: Problem[] } {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch (error) {
    const message = `${what} is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { problems: [{ reason: 'InvalidJSON', path: '(document)', message }] };
  }
}

/** Checks a parsed configuration like `readGatewayConfig`. */
export function checkGatewayConfig(json: unknown): Read {
  const read = readDocument(GatewayConfig, json);
  if ('problems' in read) return read;
  const strategies = readStrategies(read.config);
  const problems = [
    ...gatewayConfigProblems(read.config, policyMembers(read.config)),
    ...incomingProblems(read.config),
    ...strategies.problems,
    ...outgoingProblems(read.config, NEEDS, hasUsers(read.config.vmcp.incoming.type)),
    ...authServerProblems(read.config),
    ...policyProblems(read.config, {
      hasUsers: hasUsers(read.config.vmcp.incoming.type),
      providers: providerNames(read.config.embedded_auth_server_config ?? {}),
      loginSetting: 'vmcp.incoming.type: oidc',
    }),
    ...sharedStoreProblems(read.config),
    ...mountProblems(read.config),
  ];
  if (problems.length > 0) return { problems };
  const { outgoing_auth: entries } = read.config.vmcp;
  if (!entries) return read;
  return { config: { ...read.config, vmcp: { ...read.config.vmcp, outgoing_auth: strategies.entries } } };
}

/** Requirements of each strategy, by its name in the document. */
const NEEDS = new Map(
  STRATEGIES.map(({ type, perUser, needsAuthServer, signs }) => [
    fileType(type),
    { user: perUser, authServer: needsAuthServer === true, streamableHttp: signs === true },
  ]),
);

/** Reads every entry of `vmcp.outgoing_auth` with its strategy. */
function readStrategies({ vmcp }: GatewayConfig) {
  const read = Object.entries(vmcp.outgoing_auth ?? {}).map(([name, entry]) => ({ name, ...readOutgoingEntry(entry) }));
  return {
    entries: Object.fromEntries(read.flatMap((each) => ('config' in each ? [[each.name, each.config] as const] : []))),
    problems: read.flatMap((each) =>
      'config' in each ? [] : each.problems.map((problem) => below(`vmcp.outgoing_auth.${each.name}`, problem)),
    ),
  };
}

const below = (prefix: string, problem: Problem): Problem => ({
  ...problem,
  path: problem.path === '' ? prefix : `${prefix}.${problem.path}`,
});
