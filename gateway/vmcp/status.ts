import type { RequestHandler } from 'express';
import type { View, Warning } from './aggregation/view.ts';
import type { CredentialProblem } from '../outgoing/credential-failures.ts';
import type { LaunchProblem } from '../workloads/runner/runner.ts';
import type { BackendHealth, BackendState } from './health/state.ts';
import type { VirtualServer } from './virtual-server.ts';

const NO_STORE = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

/**
 * Returns `/status` of one server: names, states and sessions. The endpoint needs no login, so it shows no addresses and no
 * text of a backend.
 */
function statusOf(server: VirtualServer, version: string): object {
  const { backends } = server.fleet.health();
  const tools = toolCounts(server, server.views.shared.current);
  return {
    name: server.name,
    namespace: server.config.vmcp.namespace,
    group_ref: server.config.group ?? '',
    version,
    metadata: server.config.vmcp.metadata,
    healthy: Object.values(backends).some(({ status }) => status === 'healthy' || status === 'degraded'),
    incoming: { type: server.config.vmcp.incoming.type, ...server.incoming },
    sessions: server.sessions.size,
    session_list: sessionList(server),
    session_storage: server.replica ? 'kvstore' : 'memory',
    backends: server.config.vmcp.backends.map(({ name, transport }) => ({
      name,
      health: backends[name]?.status ?? 'unknown',
      reason: backends[name]?.reason ?? undefined,
      transport,
      mcp_revision: server.fleet.revision(name),
      tools: tools.get(name),
    })),
    problems: runtimeProblems(server),
  };
}

/** Most sessions that `/status` lists. */
const MAX_SESSIONS = 100;
/** Longest text of a client or a token in `/status`. */
const MAX_TEXT = 100;

/** Lists the sessions of this process by their last use, the latest first. It never has their ids, which are credentials. */
const sessionList = ({ sessions }: VirtualServer): object[] =>
  [...sessions.all()]
    .toSorted((one, two) => two.lastSeenAt - one.lastSeenAt)
    .slice(0, MAX_SESSIONS)
    .map(({ identity, principal, client, startedAt, lastSeenAt }) => ({
      user: (identity?.subject ?? principal).slice(0, MAX_TEXT),
      client: `${client.name} ${client.version}`.trim().slice(0, MAX_TEXT),
      started_at: new Date(startedAt).toISOString(),
      last_used_at: new Date(lastSeenAt).toISOString(),
    }));

/** Counts the tools of each backend in a list. Leaves out backends whose list is unknown or differs per user. */
export function toolCounts({ fleet }: VirtualServer, { tools, lists }: View): ReadonlyMap<string, number> {
  const counts = new Map(fleet.catalogs().map(({ backend }) => [backend, 0]));
  for (const { key } of lists.tools.items) {
    const backend = tools.get(key)?.backend ?? '';
    const count = counts.get(backend);
    if (count !== undefined) counts.set(backend, count + 1);
  }
  return counts;
}

/** A problem that only the running gateway can find, worded as in `/status` and the status of a VirtualMCPServer. */
export interface RuntimeProblem {
  readonly reason: string;
  readonly path?: string;
  readonly message: string;
}

/** One entry of `discoveredBackends` in the status of a VirtualMCPServer. */
export interface ReportedBackend {
  readonly name: string;
  readonly url: string | undefined;
  readonly status: 'ready' | 'degraded' | 'unavailable' | 'unauthenticated' | 'unknown';
  /** Type as in MCPExternalAuthConfig. */
  readonly authType: string;
  readonly mcpRevision: string | undefined;
  readonly lastHealthCheck: string | undefined;
  readonly message: string | undefined;
  readonly circuitBreakerState: string | undefined;
  readonly circuitLastChanged: string | undefined;
  readonly consecutiveFailures: number;
}

/** State that a gateway in a cluster reports in the status of its VirtualMCPServer. */
export interface StatusReport {
  readonly discoveredBackends: readonly ReportedBackend[];
  /** Number of backends that receive calls. */
  readonly backendCount: number;
  readonly runtimeProblems: readonly RuntimeProblem[];
}

const REPORTED_STATES: Readonly<Record<BackendState, ReportedBackend['status']>> = {
  installing: 'unknown',
  starting: 'unknown',
  healthy: 'ready',
  degraded: 'degraded',
  unhealthy: 'unavailable',
  unknown: 'unknown',
  unauthenticated: 'unauthenticated',
};

export function statusReport(server: VirtualServer): StatusReport {
  const { backends: health } = server.fleet.health();
  const { backends, outgoing_auth: auth } = server.config.vmcp;
  const discoveredBackends = backends.map(({ name, url }) => ({
    name,
    url,
    ...reportedHealth(health[name], server.fleet.cause(name)),
    authType: specType(auth?.[name]?.type ?? 'unauthenticated'),
    mcpRevision: server.fleet.revision(name),
  }));
  const routed = discoveredBackends.filter(({ status }) => status === 'ready' || status === 'degraded');
  return { discoveredBackends, backendCount: routed.length, runtimeProblems: runtimeProblems(server) };
}

const reportedHealth = (health: BackendHealth | undefined, cause: string | undefined) => ({
  status: REPORTED_STATES[health?.status ?? 'unknown'],
  lastHealthCheck: health?.last_check_time ?? undefined,
  message: health?.last_error_category || health?.status === 'degraded' ? cause : undefined,
  circuitBreakerState: health?.circuit_state?.replace('_', '-'),
  circuitLastChanged: health?.circuit_last_changed ?? undefined,
  consecutiveFailures: health?.consecutive_failures ?? 0,
});

/** `header_injection` -> `headerInjection`. */
const specType = (type: string): string => type.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase());

const runtimeProblems = (server: VirtualServer): RuntimeProblem[] => [
  ...server.configurationProblems,
  ...server.leftOut(),
  ...server.loginProblems(),
  ...server.views.shared.problems,
  ...server.fleet.listProblems().map(listProblem),
  ...server.unmatchedTools(),
  ...server.fleet.credentialProblems().map(credentialProblem),
  ...server.config.vmcp.backends.flatMap(({ name }) => launchProblem(name, server.fleet.launchState(name).problem)),
  ...server.fleet.repairedReplies(),
];

const listProblem = ({ reason, backend, message }: Warning): RuntimeProblem => ({
  reason,
  path: `vmcp.backends.${backend}`,
  message: `backend "${backend}": ${message}`,
});

const launchProblem = (backend: string, problem: LaunchProblem | undefined): RuntimeProblem[] =>
  problem
    ? [
        {
          reason: problem.reason,
          path: `vmcp.backends.${backend}`,
          message: `backend "${backend}" cannot be started: ${problem.message}`,
        },
      ]
    : [];

const credentialProblem = ([backend, { reason, message }]: readonly [string, CredentialProblem]): RuntimeProblem => ({
  reason,
  path: `vmcp.outgoing_auth.${backend}`,
  message: `cannot obtain a credential for backend "${backend}": ${message}`,
});

/** Serves one object for one server, or `servers` with one object per server. */
export const status =
  (servers: () => readonly VirtualServer[], version: string): RequestHandler =>
  (_req, res) => {
    const all = servers().map((server) => statusOf(server, version));
    res.set(NO_STORE).json(all.length === 1 ? all[0] : { version, servers: all });
  };

/** `/api/backends/health`. */
export const backendsHealth =
  (servers: () => readonly VirtualServer[]): RequestHandler =>
  (_req, res) => {
    const all = servers().map((server) => ({ name: server.name, ...server.fleet.health() }));
    if (all.length !== 1) {
      res.set(NO_STORE).json({ servers: all });
      return;
    }
    res.set(NO_STORE).json(servers()[0]?.fleet.health());
  };
