import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../harness/free-port.ts';
import { eventually } from '../../harness/poll.ts';
import { dumpOf } from '../../harness/redis-dump.ts';
import { hasRedis, startRedis, type RedisServer } from '../../harness/redis.ts';
import { startRoundRobin, type RoundRobin } from '../../harness/round-robin.ts';
import { CLIENT_URL, ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { root, startVmcp, type Vmcp } from '../../harness/vmcp.ts';
import { openBearerSession } from '../bearer-session.ts';
import { manifestsOf, newKeys } from './manifests.ts';
import { OAuthClient, type Flow } from './oauth-client.ts';
import { leaksIn, secretsOf, tsidOf } from './secrets.ts';
import { startSurroundings, type Surroundings } from './surroundings.ts';

const USER = { name: 'vmcp', password: 'password-of-the-store' };
/** Returns the rights that the documentation lists for the user of the store. */
async function documentedRights(): Promise<string> {
  const page = await readFile(join(root, 'docs', 'authorization-server.md'), 'utf8');
  const [, rights = ''] = /^ACL SETUSER vmcp on >PASSWORD (.*)$/mu.exec(page) ?? [];
  return rights.replaceAll('{default:tools}', '{default:gateway}');
}

const scope = blockScope();
let issuer: string;
let around: Surroundings;
let redis: RedisServer;
let balancer: RoundRobin;
let replicas: readonly [Vmcp, Vmcp];
let client: OAuthClient;

beforeAll(async () => {
  const port = await freePort();
  issuer = `http://127.0.0.1:${String(port)}`;
  const acl = `user ${USER.name} on >${USER.password} ${await documentedRights()}`;
  redis = await startRedis(scope, { config: [acl] });
  around = await startSurroundings(scope, issuer);
  const kvstore = {
    addr: `127.0.0.1:${String(redis.port)}`,
    aclUserConfig: {
      usernameSecretRef: { name: 'store', key: 'name' },
      passwordSecretRef: { name: 'store', key: 'password' },
    },
  };
  const store = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'store' }, stringData: USER });
  const files = { 'gateway.yaml': manifestsOf(issuer, around, { kvstore, keys: newKeys() }), 'store.yaml': store };
  const start = () => startVmcp(scope, { files });
  replicas = await Promise.all([start(), start()]);
  balancer = await startRoundRobin(scope, port, [replicas[0].port, replicas[1].port]);
  client = await OAuthClient.register(issuer);
});

const login = (user: string, browser = new ScriptedBrowser({ user })) => client.login(browser);

const callAt = async (replica: Vmcp, token: string, tool: string) =>
  (await openBearerSession(replica.url, token)).call(tool);

const redeemAt = ({ origin }: Vmcp, code: string, flow: Flow) =>
  fetch(`${origin}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: client.client.client_id,
      redirect_uri: CLIENT_URL,
      code_verifier: flow.verifier,
      code,
    }),
  });

describe.runIf(hasRedis)('two processes that share a store', () => {
  it('serve one login in turn, and each serves its calls', async () => {
    const tokens = await login('ann');
    for (const { port } of replicas) expect(balancer.counts.get(port)).toBeGreaterThan(1);
    for (const replica of replicas) {
      expect((await callAt(replica, tokens.access_token, 'files_whoami')).body).toContain('\\"sub\\":\\"ann\\"');
      expect((await callAt(replica, tokens.access_token, 'posts_whoami')).body).toContain('opaque');
      expect((await callAt(replica, tokens.access_token, 'vault_whoami')).body).toContain(
        String(decodeJwt(tokens.access_token).sub),
      );
      expect(replica.output()).not.toContain('lacks rights');
    }
  });

  it('row 18: issue tokens for a code once, despite concurrent requests', async () => {
    const flow = await client.begin();
    const code = (await new ScriptedBrowser({ user: 'bob' }).login(flow.url)).searchParams.get('code') ?? '';
    const attempts = Array.from({ length: 50 }, (_each, index) =>
      redeemAt(replicas[index % 2 === 0 ? 0 : 1], code, flow),
    );
    const statuses = (await Promise.all(attempts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status !== 200 && status !== 400 && status !== 429)).toEqual([]);
  });

  it('row 23: return the same successor for a refresh token', async () => {
    const { refresh_token: token = '' } = await login('carl');
    const refreshAt = async ({ origin }: Vmcp) => {
      const body = new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: token,
        client_id: client.client.client_id,
      });
      return (await fetch(`${origin}/oauth/token`, { method: 'POST', body })).json() as Promise<
        Record<string, unknown>
      >;
    };
    const [one, other] = await Promise.all(replicas.map(refreshAt));
    expect(one?.['refresh_token']).toBeTypeOf('string');
    expect(other?.['refresh_token']).toBe(one?.['refresh_token']);
  });

  it('row 17: reject a token within 5 s of its revocation at the other process', async () => {
    const { access_token: token } = await login('dora');
    const [first, second] = replicas;
    const session = await openBearerSession(second.url, token);
    expect((await session.call('files_whoami')).status).toBe(200);
    const body = new URLSearchParams({ token, client_id: client.client.client_id });
    expect((await fetch(`${first.origin}/oauth/revoke`, { method: 'POST', body })).status).toBe(200);
    const revokedAt = performance.now();
    expect(await openSessionStatus(first, token)).toBe(401);
    let lastTakenAt = revokedAt;
    await eventually('the other process rejects the token', async () => {
      const begunAt = performance.now();
      const { status } = await session.call('files_whoami');
      if (status === 200) lastTakenAt = begunAt;
      return status === 401;
    });
    expect(lastTakenAt - revokedAt).toBeLessThan(5_000);
  });

  it('row 66: store nothing that is usable with a copy of the store', async () => {
    const browser = new ScriptedBrowser({ user: 'erin' });
    const waiting = new ScriptedBrowser({ user: 'finn' });
    const tokens = await login('erin', browser);
    const flow = await client.begin();
    const page = await waiting.open(flow.url);
    if (!('page' in page)) throw new Error('there was no consent page');
    await waiting.press(page.page, ['decision', 'approve']);
    const unredeemed = await client.begin();
    await browser.login(unredeemed.url);
    const dump = await dumpOf(redis);
    expect([...dump.keys()].map((key) => key.split(':')[4])).toEqual(
      expect.arrayContaining(['txn', 'code', 'fam', 'rt', 'live', 'up', 'client']),
    );
    const secrets = [
      ...secretsOf(browser),
      ...secretsOf(waiting),
      ...around.chat.issued,
      ...[tokens.access_token, tokens.refresh_token ?? '', around.corpClient.secret, USER.password],
      ...around.backends.files.seen.map(({ headers }) => headers.authorization?.slice(7) ?? ''),
    ];
    const text = [...dump].map(([key, value]) => `${key}\n${value}`).join('\n');
    expect(leaksIn(text, [tsidOf(tokens.access_token)])).toHaveLength(1);
    expect(leaksIn(text, secrets)).toEqual([]);
  });

  it('row 67: answer 503 while the store is down, and lose no login', async () => {
    const tokens = await login('gina');
    redis.pause();
    try {
      const body = new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token ?? '',
        client_id: client.client.client_id,
      });
      const refused = await fetch(`${replicas[0].origin}/oauth/token`, { method: 'POST', body });
      expect({ status: refused.status, retry: refused.headers.get('retry-after') }).toEqual({
        status: 503,
        retry: '5',
      });
      await sleep(5_100);
      expect(await openSessionStatus(replicas[1], tokens.access_token)).toBe(503);
    } finally {
      redis.resume();
    }
    await eventually(
      'it answers again',
      async () => (await openSessionStatus(replicas[1], tokens.access_token)) === 200,
    );
    expect((await client.refresh(tokens.refresh_token ?? '')).access_token).toBeDefined();
  });
});

async function openSessionStatus({ url }: Vmcp, token: string): Promise<number> {
  try {
    await openBearerSession(url, token);
    return 200;
  } catch (error) {
    return Number(/HTTP (\d+)/u.exec(String(error))?.[1]);
  }
}
