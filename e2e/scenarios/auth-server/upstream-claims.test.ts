import { expect, it } from 'vitest';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope } from '../../harness/scope.ts';
import { rpcReply } from '../../harness/clients/raw.ts';
import { openBearerSession } from '../bearer-session.ts';
import { startAuthServer } from './gateway.ts';
import { OAuthClient } from './oauth-client.ts';

const DENIED = 'tool call denied by policy';

it('decides by the claims of the primary provider, and denies users without them', async () => {
  const gateway = await startAuthServer(testScope(), {
    policies: [
      'permit(principal in Group::"support", action, resource) when { principal.claim_level > 2 };',
      'permit(principal, action, resource) when { principal has claim_client_id };', // only tokens of the gateway
    ],
    authServer: { primaryUpstreamProvider: 'chat' },
  });
  const { chat } = gateway.around;
  const client = await OAuthClient.register(gateway.issuer);
  const loggedIn = async (user: string) => {
    const { access_token: token } = await client.login(new ScriptedBrowser({ user }));
    const session = await openBearerSession(gateway.url, token);
    return async () => rpcReply(await session.call('posts_whoami')).error?.message ?? 'answered';
  };

  chat.accessClaims = (user) => ({ sub: `chat-${user}`, groups: ['support'], level: user === 'ann' ? 3 : 1 });
  chat.accessSeconds = 61; // the gateway refreshes a minute before the end
  const ann = await loggedIn('ann');
  expect([await ann(), await (await loggedIn('bob'))()]).toEqual(['answered', DENIED]);

  chat.accessClaims = (user) => ({ sub: `chat-${user}`, groups: [], level: 3 });
  await expect.poll(ann, { timeout: 10_000, interval: 500 }).toBe(DENIED);

  chat.accessClaims = undefined;
  expect(await (await loggedIn('eve'))()).toBe(DENIED);
  await expect.poll(() => gateway.vmcp.output()).toContain('the access token of the provider is not a signed JWT');
});
