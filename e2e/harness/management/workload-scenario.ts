import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../poll.ts';

/** Management API that a scenario runs against: local mode, or a cluster. */
export interface ScenarioTarget {
  /** Such as `http://127.0.0.1:8080`. */
  readonly base: string;
  readonly token?: string;
  /** Settings of the server: image, transport, and what the image needs. */
  readonly server: Readonly<Record<string, unknown>>;
  /** Name of the workload and of its group. */
  readonly name?: string;
  /** Calls a tool of the workload at this URL with a real client; absent where no pod runs. */
  readonly callTool?: ((url: string) => Promise<unknown>) | undefined;
  readonly timeoutMs?: number;
}

type Json = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly json: Json;
  readonly text: string;
}

/** What earlier steps have received, for later ones. */
type Memory = Record<string, Json>;

interface Request {
  readonly title: string;
  readonly method: string;
  /** Below `/api/v1beta`. */
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  /** Name under which later steps find the answer. */
  readonly keepAs?: string;
  /** Repeats the request until this holds; checked once otherwise. */
  readonly until?: (answer: Json) => boolean;
  readonly holds?: (answer: Json, memory: Memory) => boolean;
}

interface ToolCall {
  readonly title: string;
  readonly call: true;
}

type Step = Request | ToolCall | ((memory: Memory) => Request);

const get = (title: string, path: string, rest: Partial<Request> = {}): Request => ({
  title,
  method: 'GET',
  path,
  status: 200,
  ...rest,
});
const post = (title: string, path: string, body: unknown, status: number, rest: Partial<Request> = {}): Request => ({
  title,
  method: 'POST',
  path,
  body,
  status,
  ...rest,
});
const remove = (title: string, path: string, status: number): Request => ({ title, method: 'DELETE', path, status });

const namesIn = ({ workloads }: Json): unknown[] => (workloads as Json[]).map(({ name }) => name);
/** Parts of the requests of one scenario. */
interface Plan {
  readonly name: string;
  readonly group: string;
  readonly secret: string;
  readonly settings: Json & { readonly env_vars: Json };
}

const CALL: ToolCall = { title: 'a client calls a tool', call: true };
const pathOf = ({ name }: Plan): string => `/workloads/${name}`;
const becomes = (plan: Plan, status: string): Request =>
  get(`becomes ${status}`, `${pathOf(plan)}/status`, { until: (answer) => answer['status'] === status });
/** A workload that is being removed is listed, and its name stays in use. */
const leavesList = (plan: Plan): Request =>
  get('leaves the list', '/workloads?all=true', { until: (answer) => !namesIn(answer).includes(plan.name) });
const isGone = (plan: Plan): Request => get('is gone', pathOf(plan), { status: 404 });

/** One life of a workload, as data: the same requests and answers in local mode and in a cluster. */
export function workloadScenario(name: string, server: Json): Step[] {
  const secret = `${name}-token`;
  const group = `${name}-group`;
  const settings = {
    ...server,
    name,
    group,
    env_vars: { LEVEL: 'info', ZONE: 'UTC' },
    secrets: [{ name: secret, target: 'TOKEN' }],
    network_isolation: false,
  };
  const plan = { name, group, secret, settings };
  return [...creation(plan), ...changes(plan), ...stopAndStart(plan), ...copy(plan)];
}

const creation = (plan: Plan): Step[] => {
  const { name, group, secret, settings } = plan;
  return [
    post('creates a secret', '/secrets/default/keys', { key: secret, value: 'value of the scenario' }, 201),
    post('rejects a secret that exists', '/secrets/default/keys', { key: secret, value: 'other' }, 409),
    post('creates a group', '/groups', { name: group }, 201),
    post('rejects a group that exists', '/groups', { name: group }, 409),
    post('rejects an unknown group', '/workloads', { ...settings, group: 'nobody-has-this' }, 400),
    post('rejects an unknown secret', '/workloads', { ...settings, secrets: [{ name: 'none', target: 'A' }] }, 400),
    post('creates a workload', '/workloads', settings, 201, { holds: (answer) => answer['name'] === name }),
    post('rejects a workload that exists', '/workloads', settings, 409),
    becomes(plan, 'running'),
    get('lists it', '/workloads', { until: (answer) => namesIn(answer).includes(name) }),
    get('lists it in its group', `/workloads?all=true&group=${group}`, {
      holds: (answer) => isDeepStrictEqual(namesIn(answer), [name]),
    }),
    CALL,
  ];
};

const changes = (plan: Plan): Step[] => {
  const one = pathOf(plan);
  const variables = { LEVEL: 'debug' };
  return [
    get('returns its settings', one, {
      keepAs: 'details',
      holds: (answer) => isDeepStrictEqual(answer['env_vars'], plan.settings.env_vars),
    }),
    ({ details }) => post('accepts its own settings', `${one}/edit`, details, 200),
    get('has the same settings after that', one, {
      holds: (answer, { details }) => isDeepStrictEqual(answer, details),
    }),
    post('changes its variables', `${one}/edit`, { env_vars: variables }, 200),
    get('has the change and keeps the rest', one, {
      holds: (answer, { details = {} }) => isDeepStrictEqual(answer, { ...details, env_vars: variables }),
    }),
    becomes(plan, 'running'),
    CALL,
    post('rejects a change to an unknown group', `${one}/edit`, { group: 'nobody-has-this' }, 400),
    get('keeps its group', one, { holds: (answer) => answer['group'] === plan.group }),
    post('finds no unknown workload', '/workloads/nobody-has-this/edit', { env_vars: {} }, 404),
  ];
};

const stopAndStart = (plan: Plan): Step[] => [
  post('restarts it', '/workloads/restart', { names: [plan.name, 'nobody-has-this'] }, 202),
  becomes(plan, 'running'),
  CALL,
  post('stops it', `${pathOf(plan)}/stop`, undefined, 202),
  becomes(plan, 'stopped'),
  get('lists it only with all', '/workloads', { holds: (answer) => !namesIn(answer).includes(plan.name) }),
  post('starts it', `${pathOf(plan)}/start`, undefined, 202),
  becomes(plan, 'running'),
  CALL,
];

const copy = (plan: Plan): Step[] => [
  get('exports it', `${pathOf(plan)}/export`, { keepAs: 'exported' }),
  post('deletes it with its group', '/workloads/delete', { group: plan.group }, 202),
  leavesList(plan),
  isGone(plan),
  ({ exported }) => post('imports the export', '/workloads/import', exported, 201),
  get('exports the same again', `${pathOf(plan)}/export`, {
    holds: (answer, { exported }) => isDeepStrictEqual(answer, exported),
  }),
  becomes(plan, 'running'),
  CALL,
  remove('deletes it alone', pathOf(plan), 202),
  leavesList(plan),
  isGone(plan),
  remove('deletes the group', `/groups/${plan.group}`, 204),
  remove('deletes the secret', `/secrets/default/keys/${plan.secret}`, 204),
];

/** Runs the scenario. Returns the titles of the steps. @throws Error that names the step and the answer */
export async function runWorkloadScenario(target: ScenarioTarget): Promise<string[]> {
  const { name = 'scenario', server } = target;
  const memory: Memory = {};
  const done: string[] = [];
  for (const given of workloadScenario(name, server)) {
    const step = typeof given === 'function' ? given(memory) : given;
    try {
      if ('call' in step) await callTool(target, name);
      else await runRequest(target, step, memory);
    } catch (error) {
      throw new Error(`step "${step.title}" after "${done.at(-1) ?? 'nothing'}" failed`, { cause: error });
    }
    done.push(step.title);
  }
  return done;
}

async function callTool(target: ScenarioTarget, name: string): Promise<void> {
  const { callTool: call, timeoutMs = 120_000 } = target;
  if (!call) return;
  const { json } = await send(target, get('lists', '/workloads?all=true'));
  const found = (json['workloads'] as Json[]).find((workload) => workload['name'] === name);
  await eventually('a tool answers', async () => (await call(String(found?.['url']))) ?? true, {
    timeoutMs,
    intervalMs: 500,
  });
}

async function runRequest(target: ScenarioTarget, step: Request, memory: Memory): Promise<void> {
  const { timeoutMs = 120_000 } = target;
  const { until, holds = () => true } = step;
  let last: Answer | undefined;
  const attempt = async (): Promise<Answer | false> => {
    last = await send(target, step);
    return last.status === step.status && (until?.(last.json) ?? true) && last;
  };
  const answer = until
    ? await eventually(step.title, attempt, { timeoutMs, intervalMs: 200 }).catch((error: unknown) => {
        throw new Error(`last answer: ${String(last?.status)} ${last?.text ?? ''}`, { cause: error });
      })
    : await attempt();
  if (!answer || !holds(answer.json, memory))
    throw new Error(`${step.method} ${step.path}: ${String(last?.status)} ${last?.text ?? ''}`);
  if (step.keepAs !== undefined) memory[step.keepAs] = answer.json;
}

async function send({ base, token }: ScenarioTarget, { method, path, body }: Request): Promise<Answer> {
  const reply = await fetch(`${base}/api/v1beta${path}`, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  return { status: reply.status, text, json: text.startsWith('{') ? (JSON.parse(text) as Json) : {} };
}
