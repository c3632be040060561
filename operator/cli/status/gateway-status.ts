import { Type, type Static, type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { isObject } from '../../../gateway/contract/json.ts';

/** State of one backend, as `vmcp status` shows it. */
export interface BackendStatus {
  readonly name: string;
  readonly state: string;
  /** Absent while the tools are unknown, and when each user has other tools. */
  readonly tools?: number;
  readonly calls: number;
  /** Absent for a healthy backend. */
  readonly reason?: string;
}

/** A session of a client. */
const SessionStatus = Type.Object({
  user: Type.String(),
  client: Type.String(),
  started_at: Type.String(),
  last_used_at: Type.String(),
});
export type SessionStatus = Static<typeof SessionStatus>;

/** State of one virtual server. */
export interface ServerStatus {
  readonly name: string;
  readonly namespace?: string;
  readonly sessions: number;
  /** The sessions that were used last, latest first. */
  readonly sessionList: readonly SessionStatus[];
  readonly backends: readonly BackendStatus[];
  readonly problems: readonly Problem[];
}

const Problem = Type.Object({
  reason: Type.String(),
  message: Type.String(),
  path: Type.Optional(Type.String()),
});
type Problem = Static<typeof Problem>;

/** Members of `/status` that are read here. */
const Server = Type.Object({
  name: Type.String(),
  namespace: Type.Optional(Type.String()),
  sessions: Type.Number(),
  session_list: Type.Optional(Type.Array(SessionStatus)), // absent in older gateways
  backends: Type.Array(
    Type.Object({
      name: Type.String(),
      health: Type.String(),
      tools: Type.Optional(Type.Number()),
      reason: Type.Optional(Type.String()),
    }),
  ),
  problems: Type.Array(Problem),
});
type Server = Static<typeof Server>;

const optionalText = Type.Optional(Type.Union([Type.String(), Type.Null()]));

/** Members of `/api/backends/health` that are read here. */
const Health = Type.Object({
  backends: Type.Optional(
    Type.Record(Type.String(), Type.Object({ reason: optionalText, last_error_category: optionalText })),
  ),
});
type Health = Static<typeof Health>;

/** Documents of a management listener, as received. */
export interface ManagementDocuments {
  readonly status: unknown;
  readonly health: unknown;
  readonly calls: CallCounts;
}

/** Joins the documents. Returns undefined when `/status` is not that of a gateway. */
export function gatewayStatus({ status, health, calls }: ManagementDocuments): ServerStatus[] | undefined {
  const servers = listOf(Server, status);
  const healths = listOf(Health, health) ?? [];
  return servers?.map((server, index) => serverStatus(server, healths[index]?.backends ?? {}, calls));
}

/** Returns the entries of a document: the gateway sends one object for one server, else the list `servers`. */
function listOf<Schema extends TSchema>(schema: Schema, document: unknown): Static<Schema>[] | undefined {
  const entries: unknown = isObject(document) && Array.isArray(document['servers']) ? document['servers'] : [document];
  return Value.Check(Type.Array(schema), entries) ? entries : undefined;
}

function serverStatus(
  { name, namespace, sessions, session_list: sessionList = [], backends, problems }: Server,
  health: NonNullable<Health['backends']>,
  calls: CallCounts,
): ServerStatus {
  const key = `${namespace ?? ''}/${name}`;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...{ sessions, sessionList },
    backends: backends.map((backend) => {
      const { reason: explained, last_error_category: category } = health[backend.name] ?? {};
      const reason = backend.reason ?? explained ?? category?.replaceAll('_', ' ');
      return {
        name: backend.name,
        state: backend.health,
        ...(backend.tools !== undefined && { tools: backend.tools }),
        calls: calls.get(callKey(key, backend.name)) ?? 0,
        ...(typeof reason === 'string' && { reason }),
      };
    }),
    problems: problems.map(({ reason, message, path }) => ({ reason, message, ...(path !== undefined && { path }) })),
  };
}

/** Number of calls by backend: the keys are those of `callKey`. */
type CallCounts = ReadonlyMap<string, number>;

/** Histogram of the gateway with a series for each virtual server, backend and outcome. */
const SERIES = /^vmcp_backend_request_duration_seconds_count\{([^}]*)\} (\d+)$/gmu;

/** Returns the key of a backend. `server` is the label of the metrics: `namespace/name`. */
const callKey = (server: string, backend: string): string => JSON.stringify([server, backend]);

/** Sums the calls of all outcomes from Prometheus text. */
export function readCallCounts(metrics: string): CallCounts {
  const counts = new Map<string, number>();
  for (const [, labels = '', count] of metrics.matchAll(SERIES)) {
    const values = new Map([...labels.matchAll(/(?:^|,)(\w+)="([^"]*)"/gu)].map(([, name, value]) => [name, value]));
    const key = callKey(values.get('server') ?? '', values.get('backend') ?? '');
    counts.set(key, (counts.get(key) ?? 0) + Number(count));
  }
  return counts;
}

const TIMEOUT_MS = 5_000;

/** The management listener gives no usable answer. The message is for users. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
}

/** Reads the state of every virtual server from a management listener. Rejects with `StatusError`. */
export async function readManagement(managementUrl: string): Promise<ServerStatus[]> {
  const [status, health, metrics] = await Promise.all(
    ['/status', '/api/backends/health', '/metrics'].map((path) => get(new URL(path, managementUrl))),
  );
  const servers = gatewayStatus({
    status: parsed(status),
    health: parsed(health),
    calls: readCallCounts(metrics ?? ''),
  });
  if (!servers) throw new StatusError(`${managementUrl} is not the management URL of a gateway: correct --management`);
  return servers;
}

/** Returns the body; undefined for an answer other than 200. */
async function get(url: URL): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'manual' });
    const body = await response.text();
    return response.ok ? body : undefined;
  } catch {
    throw new StatusError(`nothing answers at ${url.origin}: start the gateway, or correct --management`);
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
