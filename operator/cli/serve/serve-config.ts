import { readGatewayConfig } from '../../../gateway/read-gateway-config.ts';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';

/** Content of the file of `vmcp serve --config`. */
export interface ServeConfig {
  /** Configuration whose boundary 1 protects the API; undefined without `auth`. */
  readonly protectedBy: GatewayConfig | undefined;
}

const MEMBERS = ['auth', 'workloads', 'namespaces'];

/** Reads the configuration of `vmcp serve`. Pure. */
export function readServeConfig(text: string): ServeConfig | { readonly problems: readonly Problem[] } {
  const document = parsed(text);
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return { problems: [{ reason: 'Invalid', path: '.', message: 'must be a JSON object' }] };
  const { auth, workloads = 'local' } = document as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(document).filter((name) => !MEMBERS.includes(name));
  const problems: Problem[] = unknown.map((name) => ({
    reason: 'UnknownField',
    path: name,
    message: `unknown field: use ${MEMBERS.join(', ')}`,
  }));
  if (workloads === 'kubernetes')
    problems.push({
      reason: 'NotSupportedYet',
      path: 'workloads',
      message: 'workloads in a cluster are not built yet',
    });
  else if (workloads !== 'local')
    problems.push({ reason: 'Invalid', path: 'workloads', message: 'must be "local" or "kubernetes"' });
  if (auth === undefined) return problems.length > 0 ? { problems } : { protectedBy: undefined };
  const read = readGatewayConfig(JSON.stringify(gatewayConfigWith(auth)));
  if ('config' in read && problems.length === 0) return { protectedBy: read.config };
  return { problems: [...problems, ...('problems' in read ? read.problems.map(ofAuth) : [])] };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A gateway without backends whose clients bring tokens of that issuer. */
const gatewayConfigWith = (auth: unknown): unknown => ({
  schema_version: 'v0.1.0',
  name: 'management',
  oidc_config: auth,
  vmcp: {
    backends: [],
    aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
    incoming: { type: 'oidc', source: 'inline' },
    operational: {
      timeouts: { default: '30s' },
      failure_handling: {
        health_check_interval: '30s',
        health_check_timeout: '10s',
        unhealthy_threshold: 3,
        circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
      },
    },
  },
});

const ofAuth = (problem: Problem): Problem => ({
  ...problem,
  path: problem.path.replace(/^oidc_config/u, 'auth'),
  message: problem.message.replaceAll('oidc_config.', 'auth.'),
});
