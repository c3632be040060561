import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  type JsonRpcResponse,
} from '@modelcontextprotocol/ext-tasks/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { startModernConformanceServer } from '../../conformance/fixture/modern/host.ts';
import {
  bearerOf,
  startGatewayOver,
  type AuthenticatedGateway,
  type GatewayParts,
} from '../../harness/authenticated-gateway.ts';
import { hostBackend, type HttpBackend } from '../../harness/backends/host.ts';
import { initializeRequest, MCP_HEADERS, raw, REVISION, rpc, rpcReply } from '../../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { eventually } from '../../harness/poll.ts';
import { hasRedis, startRedis } from '../../harness/redis.ts';
import { blockScope, testScope, type Scope } from '../../harness/scope.ts';
import { capturedEvents } from '../audit/lines.ts';
import { FOLLOWS, NEEDS_TASKS, TaskClient } from './testdata/task-client.ts';

const ALL = 'permit(principal, action, resource);';
const MISSING_CAPABILITY = { status: 400, error: { code: -32021, data: NEEDS_TASKS } };
const UNKNOWN_TASK = { status: 400, error: { code: -32602, message: 'unknown task' } };

interface World extends AuthenticatedGateway {
  readonly one: HttpBackend;
  readonly two: HttpBackend;
  readonly issuer: Issuer;
  readonly events: ReturnType<typeof capturedEvents>;
  readonly parts: GatewayParts;
  as(subject: string): TaskClient;
}

const backendAt = (name: string, url: string) => ({
  name,
  transport: 'streamable-http' as const,
  url,
  insecure_allow_http: true,
  allow_private_ips: true,
});

/** Starts a gateway over two servers of SDK 2.x, whose first task is `task-1` each. */
async function startWorld(scope: Scope, more: Partial<GatewayParts> = {}): Promise<World> {
  const issuer = await startIssuer(scope);
  const one = await startModernConformanceServer(scope, { legacy: false });
  const two = await startModernConformanceServer(scope, { legacy: false });
  const backends = [backendAt('one', one.url), backendAt('two', two.url)];
  const parts = { issuer, backends, audit: {}, cedar: { policies: [ALL] }, ...more };
  const events = capturedEvents();
  const gateway = await startGatewayOver(scope, parts, { stdout: events.stdout });
  const as = (subject: string): TaskClient => new TaskClient(gateway.url, bearerOf(issuer, subject));
  return { ...gateway, one, two, issuer, events, parts, as };
}

const received = ({ seen }: HttpBackend, method: string) =>
  seen.filter((each) => each.method === method).map(({ headers }) => headers['mcp-name']);

const slow = (seconds: number) => ({ seconds, label: 'x' });

describe('the client of the Tasks extension', () => {
  const scope = blockScope();
  let world: World;
  beforeAll(async () => {
    world = await startWorld(scope);
  });

  async function connect() {
    const client = new Client(
      { name: 'sdk-2', version: '1.0.0' },
      { capabilities: FOLLOWS, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const headers = bearerOf(world.issuer, 'ann');
    await client.connect(new StreamableHTTPClientTransport(new URL(world.url), { requestInit: { headers } }));
    testScope().defer(() => client.close());
    const wire = world.as('ann');
    return createTaskSessionFromClient(client, {
      endpointId: 'gateway',
      rawDispatch: async (request) => {
        const { method, params } = request as unknown as { method: string; params: Record<string, unknown> };
        const { result, error } = await wire.request(method, params);
        return (error ? { kind: 'error', error } : { kind: 'result', result }) as JsonRpcResponse;
      },
      v2RequestFraming: {
        protocolVersion: '2026-07-28',
        clientInfo: { name: 'sdk-2', version: '1.0.0' },
        clientCapabilities: FOLLOWS,
      },
      onInputRequest: () => Promise.resolve({ action: 'accept', content: { confirm: 'yes' } } as never),
    });
  }

  it('follows a task to its result, and answers what the task asks for', async () => {
    const session = await connect();
    const execution = await session.callTool('one_slow_compute', slow(0.1));
    expect(execution.kind).toBe('task');
    expect(resultFromTaskOutcome((await execution.settle()).outcome)).toMatchObject({
      content: [{ text: 'computed x' }],
    });
    const asking = await session.callTool('two_confirm_delete', {});
    const { outcome } = await asking.settle();
    expect(outcome).toMatchObject({ status: 'completed', result: { content: [{ text: /"confirm":"yes"/u }] } });
    expect((await session.callTool('one_greet', { name: 'ann' })).kind).toBe('immediate');
  });

  it('cancels a task, and sees a task that fails', async () => {
    const session = await connect();
    const execution = await session.callTool('one_slow_compute', slow(60));
    await execution.cancel();
    expect((await execution.settle()).outcome.status).toBe('cancelled');
    const failing = await session.callTool('two_protocol_error_job', {});
    expect((await failing.settle()).outcome).toMatchObject({ status: 'failed', error: { message: /the job broke/u } });
  });
});

describe('tasks of two backends with the same ids', () => {
  it('stay apart, and reach their backend under its own id', async () => {
    const { as, one, two } = await startWorld(testScope());
    const ann = as('ann');
    const { result } = await ann.request('server/discover', {});
    expect(result).toMatchObject({ capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
    const [first, second] = [
      await ann.start('one_slow_compute', slow(60)),
      await ann.start('two_slow_compute', slow(60)),
    ];
    expect(first).not.toBe(second);
    const running = await ann.get(second);
    expect(running).toMatchObject({
      status: 200,
      result: { taskId: second, status: 'working', resultType: 'complete' },
    });
    const cancelled = await ann.request('tasks/cancel', { taskId: first });
    expect(cancelled.result).toMatchObject({ resultType: 'complete' });
    expect(await ann.when(first, 'cancelled')).toMatchObject({ taskId: first });
    expect(await ann.when(second, 'working')).toMatchObject({ taskId: second });
    expect(received(one, 'tasks/cancel')).toEqual(['task-1']);
    expect(received(two, 'tasks/cancel')).toEqual([]);
    expect(new Set(received(two, 'tasks/get'))).toEqual(new Set(['task-1']));
    await ann.request('tasks/cancel', { taskId: second });
  });

  it('ask for input, and get the answers', async () => {
    const { as, one } = await startWorld(testScope());
    const ann = as('ann');
    const taskId = await ann.start('one_multi_input');
    const { inputRequests } = await ann.when(taskId, 'input_required');
    expect(Object.keys(inputRequests as object)).toEqual(['first', 'second']);
    const accepted = { action: 'accept', content: { name: 'bob' } };
    await ann.request('tasks/update', { taskId, inputResponses: { first: accepted } });
    const partly = await ann.when(taskId, 'input_required');
    expect(Object.keys(partly['inputRequests'] as object)).toEqual(['second']);
    await ann.request('tasks/update', { taskId, inputResponses: { second: accepted } });
    expect(await ann.when(taskId, 'completed')).toMatchObject({ result: { content: [{ text: /bob/u }] } });
    expect(received(one, 'tasks/update')).toEqual(['task-1', 'task-1']);
  });

  it('may begin after a question, whose state is encrypted', async () => {
    const { as } = await startWorld(testScope());
    const ann = as('ann');
    const { result } = await ann.call('two_test_tool_with_task');
    expect(result).toMatchObject({ resultType: 'input_required' });
    const inputResponses = { user_name: { action: 'accept', content: { name: 'carol' } } };
    const made = await ann.call('two_test_tool_with_task', {}, { inputResponses });
    expect(made.result).toMatchObject({ resultType: 'task' });
    const done = await ann.when(String(made.result?.['taskId']), 'completed');
    expect(done).toMatchObject({ result: { content: [{ text: 'done for carol' }] } });
  });

  it('answer with an error that can be repeated while their backend is down', async () => {
    const { as, one } = await startWorld(testScope());
    const ann = as('ann');
    const taskId = await ann.start('one_slow_compute', slow(0.1));
    await one.crash();
    expect(await ann.get(taskId)).toMatchObject({ error: { code: -32603, message: /"one"/u } });
    await one.recover();
    expect(await ann.when(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'computed x' }] } });
  });
});

describe('an id', () => {
  const scope = blockScope();
  let world: World;
  let ann: TaskClient;
  let taskId: string;
  beforeAll(async () => {
    world = await startWorld(scope);
    ann = world.as('ann');
    taskId = await ann.start('one_slow_compute', slow(60));
    scope.defer(() => ann.request('tasks/cancel', { taskId }));
  });

  const untouched = () => {
    expect([...received(world.one, 'tasks/get'), ...received(world.two, 'tasks/get')]).toEqual([]);
  };

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('of another user is unknown to %s', async (method) => {
    const refused = await world.as('eve').request(method, { taskId, inputResponses: {} });
    expect(refused).toMatchObject(UNKNOWN_TASK);
    untouched();
    expect(received(world.one, method)).toEqual([]);
  });

  it.each([
    ['that is altered', (id: string) => `${id.startsWith('A') ? 'B' : 'A'}${id.slice(1)}`],
    ['with a suffix', (id: string) => `${id}A`],
    ['of the backend', () => 'task-1'],
  ])('%s is unknown', async (_, change) => {
    expect(await ann.get(change(taskId))).toMatchObject(UNKNOWN_TASK);
    untouched();
  });

  it('must be that of the header', async () => {
    for (const name of ['task-1', `${taskId}A`])
      expect(await ann.get(taskId, { name })).toMatchObject({ status: 400, error: { code: -32020 } });
    const other = await world.as('eve').start('two_slow_compute', slow(0));
    expect(await ann.get(other, { name: taskId })).toMatchObject({ status: 400, error: { code: -32020 } });
    untouched();
  });

  it.each([
    ['twice', (id: string) => `{"taskId":"task-1","taskId":${JSON.stringify(id)}`, -32600],
    ['twice with an escape', (id: string) => `{"task\\u0049d":"task-1","taskId":${JSON.stringify(id)}`, -32600],
    ['twice in another case', (id: string) => `{"TASKID":"task-1","taskId":${JSON.stringify(id)}`, -32600],
    ['as a number', () => '{"taskId":1', -32602],
    ['not at all', () => '{"other":1', -32602],
  ])('that is given %s is refused', async (_, text, code) => {
    const refused = await ann.request('tasks/get', {}, { name: taskId, text: text(taskId) });
    expect(refused).toMatchObject({ status: 400, error: { code, message: /taskId/u } });
    untouched();
  });

  it('reaches its backend when it is right', async () => {
    expect(await ann.get(taskId)).toMatchObject({ result: { taskId } });
    expect(received(world.one, 'tasks/get')).toEqual(['task-1']);
  });
});

describe('a client that has not declared the extension', () => {
  it('gets an error that names it, and its calls are not answered with tasks', async () => {
    const { as, one } = await startWorld(testScope());
    const ann = as('ann');
    const taskId = await ann.start('one_slow_compute', slow(0));
    const capabilities = { elicitation: {} };
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await ann.request(method, { taskId }, { capabilities })).toMatchObject(MISSING_CAPABILITY);
    expect(received(one, 'tasks/get')).toEqual([]);
    const call = (name: string) => ann.request('tools/call', { name, arguments: slow(0) }, { capabilities });
    expect(await call('one_failing_job')).toMatchObject(MISSING_CAPABILITY);
    expect(await call('one_slow_compute')).toMatchObject({ result: { content: [{ text: 'computed x' }] } });
  });

  it('is protected from a backend that answers with a task anyway, and so is a client with a session', async () => {
    const scope = testScope();
    const rude = await hostBackend(scope, '/mcp', (_req, res, body) => {
      const { id, method } = body as { id: number; method: string };
      const result = RUDE[method] ?? {};
      if (isCallOf(body, 'tell')) {
        const params = { ...TASK, resultType: undefined };
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tasks', params })}\n\n`);
        res.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [], resultType: 'complete' } })}\n\n`);
        return Promise.resolve();
      }
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }));
      return Promise.resolve();
    });
    const { url } = await startGatewayOver(scope, { backends: [backendAt('rude', rude.url)] });
    const client = new TaskClient(url);
    const call = (capabilities: object) =>
      client.request('tools/call', { name: 'rude_job', arguments: {} }, { capabilities });
    expect(await call({})).toMatchObject(MISSING_CAPABILITY);
    expect(await call({ extensions: { 'io.modelcontextprotocol/tasks': true } })).toMatchObject(MISSING_CAPABILITY);
    expect((await call(FOLLOWS)).result).toMatchObject({ resultType: 'task' });
    const prompt = await client.request('prompts/get', { name: 'rude_ask' });
    expect(prompt).toMatchObject({ error: { code: -32603, message: /task/u } });
    const opened = await raw(url, { method: 'POST', headers: MCP_HEADERS, body: initializeRequest(REVISION, FOLLOWS) });
    const headers = { ...MCP_HEADERS, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const old = (name: string) => raw(url, { method: 'POST', headers, body: rpc('tools/call', { name }) });
    const failed = await old('rude_job');
    expect(rpcReply(failed)).toMatchObject({ error: { code: -32603, message: /task/u } });
    expect(failed.body).not.toContain('raw-id');
    const calls = rude.seen.filter(({ method }) => method === 'tools/call');
    expect(calls.at(-1)?.body).not.toContain('io.modelcontextprotocol/tasks');
    const told = await old('rude_tell');
    expect(told.body).toContain('"content":[]');
    expect(told.body).not.toContain('notifications/tasks');
  });
});

const isCallOf = (body: unknown, tool: string): boolean =>
  (body as { params?: { name?: string } }).params?.name === tool;

const TASK = {
  resultType: 'task',
  taskId: 'raw-id',
  status: 'working',
  createdAt: '2026-07-28T00:00:00Z',
  lastUpdatedAt: '2026-07-28T00:00:00Z',
  ttlMs: null,
};
/** Results of a backend that sends tasks to every client. */
const RUDE: Readonly<Record<string, object>> = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, prompts: {} } },
  'tools/list': {
    tools: ['job', 'tell'].map((name) => ({ name, inputSchema: { type: 'object' } })),
    ttlMs: 0,
    cacheScope: 'public',
  },
  'prompts/list': { prompts: [{ name: 'ask' }], ttlMs: 0, cacheScope: 'public' },
  'tools/call': TASK,
  'prompts/get': TASK,
};

describe('the controls of a tool', () => {
  it('act on its tasks: policies, and the audit log', async () => {
    const { as, swap, parts, events, one } = await startWorld(testScope());
    const ann = as('ann');
    const taskId = await ann.start('one_slow_compute', slow(60));
    expect(await ann.get(taskId)).toMatchObject({ result: { status: 'working' } });
    const target = { method: 'tasks/get', type: 'tool', name: 'one_slow_compute' };
    const event = await events.event('mcp_request', (each) => each.target.method === 'tasks/get');
    expect(event).toMatchObject({ target, outcome: 'success' });
    const forbid = 'forbid(principal, action == Action::"call_tool", resource == Tool::"one_slow_compute");';
    await swap({ ...parts, cedar: { policies: [ALL, forbid] } });
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await ann.request(method, { taskId })).toMatchObject({ status: 403, error: { code: -32003 } });
    expect(received(one, 'tasks/cancel')).toEqual([]);
    await swap(parts);
    expect(await ann.request('tasks/cancel', { taskId })).toMatchObject({ result: { resultType: 'complete' } });
  });

  it('do not act on its tasks: rate limits, so that clients may poll', async () => {
    const limited = { name: 'one_slow_compute', shared: { maxTokens: 1, refillPeriod: '1h' } };
    const { as } = await startWorld(testScope(), { rateLimits: { tools: [limited] } });
    const ann = as('ann');
    const taskId = await ann.start('one_slow_compute', slow(0));
    for (let polls = 0; polls < 3; polls += 1) expect((await ann.get(taskId)).status).toBe(200);
    const again = await ann.request('tools/call', { name: 'one_slow_compute', arguments: slow(0) });
    expect(again).toMatchObject({ status: 429, error: { data: { reason: 'rate_limited' } } });
  });
});

it('a task is unknown when its tool is gone, or is now that of another backend', async () => {
  const none = { aggregation: { conflict_resolution: 'none' as const } };
  const { as, swap, parts, issuer, one, two } = await startWorld(testScope());
  const [alone, other] = parts.backends.map((backend) => ({ issuer, ...none, backends: [backend] }));
  const ann = as('ann');
  if (!alone || !other) throw new Error('there are two backends');
  await swap(alone);
  const taskId = await eventually('the tools are known', () => ann.start('slow_compute', slow(60)));
  await swap({ ...alone, aggregation: { ...none.aggregation, tools: [{ workload: 'one', filter: ['greet'] }] } });
  expect(await ann.get(taskId)).toMatchObject(UNKNOWN_TASK);
  await swap(other);
  await eventually('the tools are known', () => ann.start('slow_compute', slow(0)));
  expect(await ann.get(taskId)).toMatchObject(UNKNOWN_TASK);
  expect([...received(one, 'tasks/get'), ...received(two, 'tasks/get')]).toEqual([]);
  await swap(alone);
  expect(await ann.when(taskId, 'working')).toMatchObject({ taskId });
});

describe('notifications about tasks', () => {
  it('come with the ids of the client, for the tasks that it names and may see', async () => {
    const { as, one, two } = await startWorld(testScope());
    const ann = as('ann');
    const [first, second] = [await ann.start('one_confirm_delete'), await ann.start('two_confirm_delete')];
    const unnamed = await ann.start('one_slow_compute', slow(0.1));
    const foreign = await as('eve').start('two_slow_compute', slow(60));
    const stream = await ann.listen(testScope(), [first, second, foreign, 'task-1']);
    const subscription = { _meta: { 'io.modelcontextprotocol/subscriptionId': 'request-7' } };
    await eventually('the stream is open', () => stream.messages.length > 0);
    expect(stream.messages[0]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [first, second] }, ...subscription },
    });
    const inputResponses = { confirm: { action: 'accept', content: {} } };
    await ann.request('tasks/update', { taskId: first, inputResponses });
    await ann.request('tasks/update', { taskId: second, inputResponses });
    await ann.when(unnamed, 'completed');
    await eventually('both are complete', () => stream.messages.length >= 5);
    const seen = stream.messages.slice(1).map(({ method, params }) => {
      expect(params).toMatchObject(subscription);
      return `${String(method)} ${String(params?.['taskId'])} ${String(params?.['status'])}`;
    });
    const states = (id: string) => ['working', 'completed'].map((status) => `notifications/tasks ${id} ${status}`);
    expect(seen.toSorted()).toEqual([...states(first), ...states(second)].toSorted());
    expect(JSON.stringify(stream.messages)).not.toContain('task-1');
    await as('eve').request('tasks/cancel', { taskId: foreign });
    for (const { seen: requests } of [one, two]) {
      const listens = requests.filter(({ method, body }) => method === 'subscriptions/listen' && /taskIds/u.test(body));
      expect(listens.map(({ body }) => /"taskIds":\[[^\]]*\]/u.exec(body)?.[0])).toEqual(['"taskIds":["task-1"]']);
    }
  });

  it('need the extension, and end when the backend, the policies or the client end them', async () => {
    const { as, one, swap, parts } = await startWorld(testScope());
    const ann = as('ann');
    const taskId = await ann.start('one_slow_compute', slow(60));
    const undeclared = await ann.listen(testScope(), [taskId], { capabilities: {} });
    await eventually('the answer', () => undeclared.isOver);
    expect(undeclared.messages).toMatchObject([{ error: { code: -32021, data: NEEDS_TASKS } }]);

    const open = async () => {
      const stream = await ann.listen(testScope(), [taskId]);
      await eventually('the stream is open', () => stream.messages.length > 0);
      expect(stream.messages[0]).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
      return stream;
    };
    const policed = await open();
    await swap({
      ...parts,
      cedar: { policies: [ALL, 'forbid(principal, action, resource == Tool::"one_slow_compute");'] },
    });
    await eventually('the stream has ended', () => policed.isOver);
    const denied = await ann.listen(testScope(), [taskId]);
    await eventually('the answer', () => denied.isOver);
    expect(denied.messages[0]).toMatchObject({ params: { notifications: {} } });
    await swap(parts);

    const broken = await open();
    await one.crash();
    await eventually('the stream has ended', () => broken.isOver);
    expect(broken.messages.at(-1)).toMatchObject({ result: { _meta: {} } });
    await one.recover();

    const left = testScopeOf();
    const stream = await ann.listen(left.scope, [taskId]);
    await eventually('the stream is open', () => stream.messages.length > 0);
    const isOpen = () => one.running() > 1; // beside the stream of the gateway itself
    await eventually('the backend has a stream', isOpen);
    left.end();
    await eventually('the backend has none', () => !isOpen());
    await ann.request('tasks/cancel', { taskId });
  });
});

/** Returns a scope that ends when `end` is called. */
function testScopeOf() {
  const stops: (() => unknown)[] = [];
  return {
    scope: { defer: (stop: () => unknown) => void stops.push(stop) },
    end: () => {
      for (const stop of stops.splice(0)) void stop();
    },
  };
}

it.runIf(hasRedis)('a task is finished by every gateway with the same store, and by no other', async () => {
  const scope = testScope();
  const redis = await startRedis(scope);
  const one = await startModernConformanceServer(scope, { legacy: false });
  const backends = [backendAt('one', one.url)];
  const scaling = { session_kvstore: { address: `127.0.0.1:${String(redis.port)}` } };
  const [made, same, other] = await Promise.all(
    [{ backends, scaling }, { backends, scaling }, { backends }].map((parts) => startGatewayOver(scope, parts)),
  );
  const client = (gateway?: AuthenticatedGateway): TaskClient => new TaskClient(gateway?.url ?? '');
  const taskId = await client(made).start('one_confirm_delete');
  expect(await client(other).get(taskId)).toMatchObject(UNKNOWN_TASK);
  expect(await client(same).when(taskId, 'input_required')).toMatchObject({ taskId });
  const inputResponses = { confirm: { action: 'accept', content: {} } };
  await client(same).request('tasks/update', { taskId, inputResponses });
  expect(await client(made).when(taskId, 'completed')).toMatchObject({ taskId });
});
