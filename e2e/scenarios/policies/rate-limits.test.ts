import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { VMCP } from '../../../gateway/contract/testdata/vmcp-config.ts';
import { startMcpServer } from '../../faults/mcp-server.ts';
import { freePort } from '../../harness/free-port.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import type { RawResponse } from '../../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { eventually } from '../../harness/poll.ts';
import { hasRedis, startRedis, type RedisServer } from '../../harness/redis.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { startGateway, startVmcp, type Vmcp } from '../../harness/vmcp.ts';
import { bearer, openBearerSession, type BearerSession } from '../bearer-session.ts';

type Limits = NonNullable<GatewayConfig['rate_limit_config']>;

interface World {
  readonly issuer: Issuer;
  readonly configOf: (limits: Limits, redis?: RedisServer) => string;
  readonly session: (vmcp: Vmcp, user: string) => Promise<BearerSession>;
}

/** Starts an issuer and a backend named `shop`, whose tools are called `shop_*`. */
async function startWorld(scope: Scope): Promise<World> {
  const issuer = await startIssuer(scope);
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'shop');
  const configOf = (limits: Limits, redis?: RedisServer): string =>
    JSON.stringify({
      schema_version: 'v0.1.0',
      name: 'desk',
      oidc_config: { issuer: issuer.url, audience: 'vmcp' },
      rate_limit_config: limits,
      ...(redis && { scaling_config: { session_kvstore: { address: `127.0.0.1:${String(redis.port)}` } } }),
      vmcp: {
        ...VMCP,
        namespace: 'team',
        incoming: { type: 'oidc' },
        backends: [{ name: 'shop', transport: 'streamable-http', url }],
        session_storage: 'memory', // an outage of the store affects the limits alone
      },
    } satisfies GatewayConfig);
  const session = ({ url: at }: Vmcp, sub: string) => openBearerSession(at, issuer.token({ sub, aud: 'vmcp' }));
  return { issuer, configOf, session };
}

const bucket = (maxTokens: number, refillPeriod = '1h') => ({ maxTokens, refillPeriod });
/** Returns the code and the reason of an error, `answered` for a result, and the status unless it is 200. */
const reasonOf = ({ status, body }: RawResponse): string => {
  if (status !== 200) return String(status);
  const { error } = JSON.parse(body) as { error?: { code: number; data?: { reason?: string } } };
  return error ? `${String(error.code)} ${error.data?.reason ?? ''}` : 'answered';
};
const STORE_DOWN = '-32603 rate_limit_store_unavailable';
const echo = async (session: BearerSession, tool = 'shop_echo') => reasonOf(await session.call(tool, { text: 'hi' }));

/** Calls `count` times in turn. */
async function outcomes(session: BearerSession, count: number, tool?: string): Promise<string[]> {
  const all: string[] = [];
  for (let call = 0; call < count; call += 1) all.push(await echo(session, tool));
  return all;
}

/** Calls `count` times in turn, and returns how many calls were answered. */
const answered = async (session: BearerSession, count: number, tool?: string): Promise<number> =>
  (await outcomes(session, count, tool)).filter((outcome) => outcome === 'answered').length;

describe.concurrent('a gateway with rate limits in memory', () => {
  it.each<[what: string, limits: Limits, calls: [user: string, tool: string, count: number, answered: number][]]>([
    [
      'all users together',
      { shared: bucket(3) },
      [
        ['ann', 'echo', 2, 2],
        ['bob', 'whoami', 5, 1],
        ['ann', 'add', 1, 0],
      ],
    ],
    [
      'each user',
      { perUser: bucket(2) },
      [
        ['ann', 'echo', 3, 2],
        ['bob', 'echo', 3, 2],
        ['ann', 'whoami', 1, 0],
      ],
    ],
    [
      'one tool by its advertised name',
      {
        tools: [
          { name: 'shop_echo', shared: bucket(2) },
          { name: 'whoami', shared: bucket(1) },
        ],
      },
      [
        ['ann', 'echo', 3, 2],
        ['bob', 'echo', 1, 0],
        ['bob', 'whoami', 4, 4],
      ],
    ],
    [
      'one tool for each user',
      { tools: [{ name: 'shop_echo', perUser: bucket(1) }] },
      [
        ['ann', 'echo', 2, 1],
        ['bob', 'echo', 2, 1],
      ],
    ],
    // a refused call takes no token of the other bucket
    [
      'all of these, or none',
      { shared: bucket(4), tools: [{ name: 'shop_echo', perUser: bucket(1) }] },
      [
        ['ann', 'echo', 9, 1],
        ['ann', 'whoami', 9, 3],
        ['bob', 'echo', 1, 0],
      ],
    ],
  ])('limits %s', async (_what, limits, calls) => {
    const scope = testScope();
    const { configOf, session } = await startWorld(scope);
    const vmcp = await startGateway(scope, configOf(limits));
    for (const [user, tool, count, expected] of calls)
      expect(await answered(await session(vmcp, user), count, `shop_${tool}`), `${user} ${tool}`).toBe(expected);
  });

  it('answers the error 429 with the time to wait, limits only tools/call, and counts decisions', async () => {
    const scope = testScope();
    const { configOf, session, issuer } = await startWorld(scope);
    const vmcp = await startGateway(scope, configOf({ perUser: bucket(1, '90s') }));
    const ann = await session(vmcp, 'ann');
    expect(await echo(ann)).toBe('answered');
    const refused = await ann.call('shop_echo', { text: 'hi' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([200, '90']);
    expect((JSON.parse(refused.body) as { error: unknown }).error).toEqual({
      code: 429,
      message: 'Rate limit exceeded: try again in 90 s',
      data: { reason: 'rate_limited', retryAfterSeconds: 90 },
    });
    for (const method of ['tools/list', 'ping', 'prompts/list', 'resources/list'])
      expect((await ann.post(method, {})).status, method).toBe(200);
    // another token of the same user, and a header that names another tool, change nothing
    const again = await session(vmcp, 'ann');
    expect(await echo(again)).toBe('429 rate_limited');
    const lie = await again.post('tools/call', { name: 'shop_echo', arguments: {} }, { 'mcp-name': 'shop_whoami' });
    expect(lie.status).not.toBe(200);
    const client = new Client({ name: 'test', version: '1' });
    const headers = bearer(issuer.token({ sub: 'ann', aud: 'vmcp' }));
    await client.connect(new StreamableHTTPClientTransport(new URL(vmcp.url), { requestInit: { headers } }));
    await expect(client.callTool({ name: 'shop_echo', arguments: { text: 'hi' } })).rejects.toMatchObject({
      code: 429,
    });
    await client.close();
    const metrics = await (await fetch(`${vmcp.management}/metrics`)).text();
    const decisions = 'vmcp_rate_limit_decisions_total{server="team/desk",scope="user",allowed=';
    expect(metrics).toContain(`${decisions}"true"} 1`);
    expect(metrics).toMatch(new RegExp(`${decisions.replaceAll(/[{}]/gu, String.raw`\$&`)}"false"\\} [34]\n`, 'u'));
  });
});

describe.skipIf(!hasRedis)('gateways with rate limits in Redis', () => {
  it('share one bucket exactly: three processes', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const { configOf, session } = await startWorld(scope);
    const config = configOf({ perUser: bucket(1_000, '8760h') }, redis);
    const gateways = await Promise.all([0, 1, 2].map(() => startGateway(scope, config)));
    const sessions = await Promise.all(gateways.flatMap((vmcp) => [0, 1, 2, 3].map(() => session(vmcp, 'ann'))));
    const called = await Promise.all(sessions.map((each) => outcomes(each, 150)));
    const passed = called.flat().filter((outcome) => outcome === 'answered').length;
    // on a busy machine a reply of the store can be late: its token is lost, and the call is refused
    const late = called.flat().filter((outcome) => outcome === STORE_DOWN).length;
    expect(passed).toBeLessThanOrEqual(1_000);
    expect(passed + late).toBeGreaterThanOrEqual(1_000);
    expect(late).toBeLessThan(10);
    expect(await redis.cli('KEYS', '*')).toMatch(/^vmcp:rl:\{team:desk\}:user:\d+:http:\S+ann$/u);
  });

  it('refuse calls with limits of users and tools during an outage, let others pass, and recover', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const { configOf, session } = await startWorld(scope);
    const limits = { shared: bucket(100_000), tools: [{ name: 'shop_echo', perUser: bucket(100_000) }] };
    const start = (more: Limits = {}) => startGateway(scope, configOf({ ...limits, ...more }, redis));
    const [vmcp, open, closed] = await Promise.all([
      start(),
      start({ storeUnavailable: 'open' }),
      start({ storeUnavailable: 'closed' }),
    ]);
    const [ann, atOpen, atClosed] = await Promise.all([vmcp, open, closed].map((each) => session(each, 'ann')));
    if (!ann || !atOpen || !atClosed) throw new Error('no session');
    const seen = { echo: new Set<string>(), whoami: new Set<string>() };
    let isLoading = true;
    const load = Promise.all(
      (['echo', 'whoami'] as const).map(async (tool) => {
        while (isLoading) seen[tool].add(await echo(ann, `shop_${tool}`));
      }),
    );
    await eventually('calls are answered', () => seen.echo.has('answered') && seen.whoami.has('answered'));
    await redis.kill();
    await eventually('calls are refused', () => seen.echo.has(STORE_DOWN));
    const refused = await ann.call('shop_echo', { text: 'hi' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([200, '1']);
    expect([await echo(atOpen), await echo(atOpen, 'shop_whoami')]).toEqual(['answered', 'answered']);
    expect([await echo(atClosed), await echo(atClosed, 'shop_whoami')]).toEqual([STORE_DOWN, STORE_DOWN]);
    await startRedis(scope, { port: redis.port });
    seen.echo.clear();
    await eventually('calls are answered again', () => seen.echo.has('answered'));
    isLoading = false;
    await load;
    expect([...seen.whoami]).toEqual(['answered']);
    const metrics = await (await fetch(`${vmcp.management}/metrics`)).text();
    expect(metrics).toMatch(/vmcp_rate_limit_fail_open_total\{server="team\/desk"\} [1-9]/u);
    expect(metrics).toMatch(/vmcp_rate_limit_kvstore_errors_total\{server="team\/desk"\} [1-9]/u);
    expect(metrics).toMatch(/vmcp_rate_limit_check_latency_seconds_count\{server="team\/desk"\} [1-9]/u);
    expect(vmcp.output().match(/store of rate limits is unavailable/gu)).toHaveLength(1);
  });

  it('use sessionStorage of a resource with its password and rights', async () => {
    const scope = testScope();
    const keys = '~team:rl:{default:desk}:* ~team:mcp:{default:desk}:* &team:mcp:{default:desk}:*';
    const sessions = '+del +unlink +pexpire +pttl +@hash +xadd +xrange +publish +subscribe +ping';
    const rights = `${keys} -@all +get +set +time +exists +eval +evalsha +info +select ${sessions}`;
    const redis = await startRedis(scope, { config: [`user default on >canary-of-redis ${rights}`] });
    const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'shop');
    const { issuer } = await startWorld(scope);
    const object = (kind: string, name: string, rest: object) => ({
      apiVersion: 'vmcp.dev/v1alpha1',
      kind,
      metadata: { name },
      ...rest,
    });
    const objects = [
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'redis' }, stringData: { password: 'canary-of-redis' } },
      object('MCPGroup', 'tools', { spec: {} }),
      object('MCPServerEntry', 'shop', {
        spec: { remoteUrl: url, transport: 'streamable-http', groupRef: { name: 'tools' } },
      }),
      object('VirtualMCPServer', 'desk', {
        spec: {
          groupRef: { name: 'tools' },
          incomingAuth: {
            type: 'oidc',
            oidcConfig: { type: 'inline', inline: { issuer: issuer.url, audience: 'vmcp' } },
          },
          sessionStorage: {
            provider: 'redis',
            address: `127.0.0.1:${String(redis.port)}`,
            keyPrefix: 'team:',
            passwordRef: { name: 'redis', key: 'password' },
          },
          config: { rateLimiting: { shared: { maxTokens: 2, refillPeriod: '1h' } } },
        },
      }),
    ];
    const vmcp = await startVmcp(scope, {
      files: { 'desk.yaml': objects.map((each) => JSON.stringify(each)).join('\n---\n') },
    });
    const ann = await openBearerSession(vmcp.url, issuer.token({ sub: 'ann', aud: 'vmcp' }));
    await eventually('the tools are listed', async () => (await ann.post('tools/list', {})).body.includes('shop_echo'));
    expect(await answered(ann, 5)).toBe(2);
    expect(vmcp.output()).not.toContain('canary-of-redis');
  });
});

describe('a rate limit of a tool that no backend has', () => {
  const start = async (tools: readonly string[]) => {
    const scope = testScope();
    const shop = await startMcpServer(scope, 'shop');
    shop.tools = ['echo'];
    const down = `http://127.0.0.1:${String(await freePort())}/mcp`;
    const config = {
      schema_version: 'v0.1.0',
      name: 'desk',
      rate_limit_config: { tools: tools.map((name) => ({ name, shared: bucket(2) })) },
      vmcp: {
        ...VMCP,
        namespace: 'team',
        incoming: { type: 'anonymous' },
        backends: [
          { name: 'shop', transport: 'streamable-http', url: shop.url },
          { name: 'down', transport: 'streamable-http', url: down },
        ],
      },
    } satisfies GatewayConfig;
    const vmcp = await startGateway(scope, JSON.stringify(config));
    const unmatched = async () => {
      const status = await (await fetch(`${vmcp.management}/status`)).json();
      const { problems } = status as { problems: { reason: string; path?: string; message: string }[] };
      return problems.filter(({ reason }) => reason === 'RateLimitToolUnmatched');
    };
    return { shop, vmcp, unmatched };
  };

  it('is a problem in /status and in the log until the tool appears', async () => {
    const { shop, vmcp, unmatched } = await start(['shop_echo', 'shop_later', 'echo', 'down_any']);
    await expect.poll(unmatched).toEqual([
      {
        reason: 'RateLimitToolUnmatched',
        path: 'rate_limit_config.tools[1].name',
        message: 'the rate limit of "shop_later" limits nothing: clients see no tool of this name',
      },
      expect.objectContaining({ path: 'rate_limit_config.tools[2].name' }),
    ]);
    await eventually('the log names both tools', () =>
      ['shop_later', 'echo'].every((name) => vmcp.stderr().includes(`the rate limit of \\"${name}\\"`)),
    );
    expect(vmcp.stderr()).not.toContain('down_any'); // its backend does not answer, so it may exist
    shop.tools = ['echo', 'later'];
    shop.notify('notifications/tools/list_changed');
    await expect
      .poll(async () => (await unmatched()).map(({ path }) => path))
      .toEqual(['rate_limit_config.tools[2].name']);
  });
});
