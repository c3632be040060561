import { expect, it } from 'vitest';
import { eventually } from '../../harness/poll.ts';
import { hasRedis, startSentinelTrio } from '../../harness/redis.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope } from '../../harness/scope.ts';
import { openBearerSession } from '../bearer-session.ts';
import { newKeys } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';
import { startAuthServer } from './gateway.ts';

it.runIf(hasRedis)('a failover of the store loses no session', async () => {
  const scope = testScope();
  const trio = await startSentinelTrio(scope);
  const sentinelAddrs = trio.sentinels.map(({ port }) => `127.0.0.1:${String(port)}`);
  const kvstore = { sentinelConfig: { masterName: trio.masterName, sentinelAddrs } };
  const gateway = await startAuthServer(scope, { kvstore, keys: newKeys() });
  const client = await OAuthClient.register(gateway.issuer);
  const browsers = ['ann', 'bob', 'carl'].map((user) => new ScriptedBrowser({ user }));
  const sessions = await Promise.all(
    browsers.map(async (browser) => {
      const tokens = await client.login(browser);
      return { tokens, mcp: await openBearerSession(gateway.url, tokens.access_token) };
    }),
  );
  const before = await trio.master();
  // Redis replicates asynchronously: a write that only the master has acknowledged can be lost.
  expect(await before.cli('WAIT', '2', '5000')).toBe('2');
  await before.kill();
  await eventually('another server is the master', async () => (await trio.master()).port !== before.port);
  await eventually('logins are possible', async () => {
    const { url } = await client.begin();
    return (await fetch(`${gateway.issuer}/oauth/authorize${url.search}`, { redirect: 'manual' })).ok;
  });
  for (const { tokens, mcp } of sessions) {
    // A connection can end once more while the sentinels configure the servers. Clients get 503, which means "try again".
    const status = await eventually('the store answers', async () => {
      const answer = await mcp.call('posts_whoami');
      return answer.status !== 503 && answer.status;
    });
    expect(status).toBe(200);
    const renewed = await client.refresh(tokens.refresh_token ?? '');
    expect((await (await openBearerSession(gateway.url, renewed.access_token)).call('files_whoami')).status).toBe(200);
  }
  expect(gateway.around.chat.counts.login).toBe(3);
});
