import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import { bearerOf, startGatewayOver } from '../harness/authenticated-gateway.ts';
import { openSession, REVISION, rpc, type RawSession } from '../harness/clients/raw.ts';
import { startIssuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startMcpServer, type Exchange, type McpServer } from './mcp-server.ts';

const LIMIT = 1_000;
const SURPLUS = 20;

const backendOf = (name: string, { url }: McpServer) => ({
  ...{ name, transport: 'streamable-http' as const, url },
  ...{ insecure_allow_http: true, allow_private_ips: true },
});

async function startServer(scope: Scope, name: string): Promise<McpServer> {
  const options = {
    sessions: false,
    capabilities: { tools: {}, resources: {} },
    methods: {
      'resources/list': ({ result }: { result: (value: unknown) => void }) => {
        result({ resources: [{ uri: `${name}://file`, name: 'file' }] });
      },
    },
  };
  const server = await startMcpServer(scope, name, options);
  server.tools = ['run'];
  return server;
}

async function setting() {
  const scope = testScope();
  const issuer = await startIssuer(scope);
  const names = ['one', 'two', 'three'];
  const servers = await Promise.all(names.map((name) => startServer(scope, name)));
  const backends = servers.map((server, index) => backendOf(names[index] ?? '', server));
  const gateway = await startGatewayOver(scope, { backends, timeout: '60s', issuer });
  const open = async (user: string): Promise<RawSession> => {
    const session = await openSession(gateway.url, REVISION, bearerOf(issuer, user));
    await session.tools();
    return session;
  };
  const refusals = async (): Promise<string | undefined> => {
    const metrics = await (await fetch(`${gateway.gateway.managementUrl}/metrics`)).text();
    return /^vmcp_budget_refusals_total\{.*budget="calls"\} (\d+)$/mu.exec(metrics)?.[1];
  };
  return { servers, url: gateway.url, open, refusals };
}

/** Calls of a user in turn at each backend, one in four of them a read. */
const callOf = (index: number): string => {
  const name = ['one', 'two', 'three'][index % 3] ?? '';
  const id = index + 10;
  return index % 4 === 0
    ? rpc('resources/read', { uri: `${name}://file` }, id)
    : rpc('tools/call', { name: `${name}_run`, arguments: {} }, id);
};

interface Answered {
  readonly status: number;
  readonly retryAfter: unknown;
  readonly text: string;
}

/** Sends `count` calls at once, which backends do not answer before `answer`. Collects the answers. */
function flood(url: string, servers: readonly McpServer[], sessions: readonly RawSession[], count: number) {
  const held: Exchange[] = [];
  const answered: Answered[] = [];
  for (const server of servers) {
    server.intercept = (exchange) => {
      const { method } = exchange.message;
      if (method !== 'tools/call' && method !== 'resources/read') return false;
      held.push(exchange);
      return true;
    };
  }
  const dispatcher = new Agent({ connections: 2_000 });
  const controller = new AbortController();
  for (let index = 0; index < count; index += 1) {
    const headers = sessions[index % sessions.length]?.headers ?? {};
    request(url, { method: 'POST', headers, body: callOf(index), dispatcher, signal: controller.signal })
      .then(async ({ statusCode, headers: { 'retry-after': retryAfter }, body }) => {
        answered.push({ status: statusCode, retryAfter, text: await body.text() });
      })
      .catch(() => undefined);
  }
  const disconnect = async () => {
    controller.abort();
    for (const server of servers) server.intercept = undefined;
    await dispatcher.close();
  };
  return { held, answered, disconnect };
}

it('rejects the calls of a user above 1,000 at all backends with Retry-After, and serves other users', async () => {
  const { servers, url, open, refusals } = await setting();
  const sessions = [await open('alice'), await open('alice')];
  const bob = await open('bob');
  const { held, answered, disconnect } = flood(url, servers, sessions, LIMIT + SURPLUS);
  await eventually('20 calls are rejected', () => answered.length >= SURPLUS);
  await eventually('80 calls of the user run at each backend', () => held.length >= 3 * 80);
  expect([held.length, answered.length]).toEqual([3 * 80, SURPLUS]);
  for (const { status, retryAfter, text } of answered) {
    expect([status, retryAfter]).toEqual([200, '1']);
    expect(JSON.parse(text)).toMatchObject({
      error: { code: 429, data: { reason: 'over_budget', budget: 'calls', retryAfterSeconds: 1 } },
    });
  }
  expect(await refusals()).toBe(String(SURPLUS));
  expect((await sessions[0]?.request('ping'))?.result).toEqual({});
  expect((await sessions[0]?.tools())?.length).toBe(3);
  const [first] = servers;
  if (first) first.intercept = undefined;
  expect((await bob.call('one_run')).status).toBe(200);
  await disconnect();
  await eventually('the places are free', async () => (await sessions[1]?.call('two_run'))?.status === 200);
});
