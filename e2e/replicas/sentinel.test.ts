import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eventually } from '../harness/poll.ts';
import { hasRedis, startSentinelTrio } from '../harness/redis.ts';
import { ScriptedBrowser } from '../harness/browser/scripted-browser.ts';
import { testScope } from '../harness/scope.ts';
import { startAuthServer } from '../scenarios/auth-server/gateway.ts';
import { newKeys } from '../scenarios/auth-server/manifests.ts';
import { OAuthClient } from '../scenarios/auth-server/oauth-client.ts';
import { openBearerSession } from '../scenarios/bearer-session.ts';

it.runIf(hasRedis)('a failover under load costs 503 answers only, and no session', async () => {
  const scope = testScope();
  const trio = await startSentinelTrio(scope);
  const sentinelAddrs = trio.sentinels.map(({ port }) => `127.0.0.1:${String(port)}`);
  const kvstore = { sentinelConfig: { masterName: trio.masterName, sentinelAddrs } };
  const gateway = await startAuthServer(scope, { kvstore, keys: newKeys() });
  const client = await OAuthClient.register(gateway.issuer);
  const { access_token: token } = await client.login(new ScriptedBrowser({ user: 'ann' }));
  const sessions = await Promise.all(Array.from({ length: 6 }, () => openBearerSession(gateway.url, token)));
  const before = await trio.master();
  expect(await before.cli('KEYS', '*:s:*')).toContain(sessions[0]?.id);
  // Redis replicates asynchronously: a write that only the master has acknowledged can be lost.
  expect(await before.cli('WAIT', '2', '5000')).toBe('2');

  const outcomes: string[] = [];
  const running = new AbortController();
  const load = sessions.map(async ({ call }) => {
    while (!running.signal.aborted) {
      const { status, headers } = await call('posts_whoami');
      outcomes.push(status === 503 ? `503 ${String(headers['retry-after'] !== undefined)}` : String(status));
      await sleep(20);
    }
  });
  const opening = (async () => {
    while (!running.signal.aborted) {
      const opened = await openBearerSession(gateway.url, token).then(() => '200', String);
      outcomes.push(/HTTP 503/u.test(opened) ? '503 true' : opened);
      await sleep(100);
    }
  })();
  await sleep(500);
  await before.kill();
  await eventually('another server is the master', async () => (await trio.master()).port !== before.port);
  await eventually('new sessions are possible', async () => (await openBearerSession(gateway.url, token)).id);
  for (const { call } of sessions)
    await eventually('the session is served', async () => (await call('posts_whoami')).status === 200);
  await sleep(500);
  running.abort();
  await Promise.all([...load, opening]);
  expect([...new Set(outcomes)].toSorted()).toEqual(['200', '503 true']);
});
