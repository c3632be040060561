import { beforeAll, expect, it } from 'vitest';
import { CLIENT_URL, ScriptedBrowser, type End, type Shown } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { raw, initializeRequest, MCP_HEADERS } from '../../harness/clients/raw.ts';
import { bearer } from '../bearer-session.ts';
import { startAuthServer, type Gateway } from './gateway.ts';
import { OAuthClient } from './oauth-client.ts';

const scope = blockScope();
let gateways: readonly [Gateway, Gateway];

beforeAll(async () => {
  gateways = await Promise.all([startAuthServer(scope), startAuthServer(scope)]);
});

function pageOf(end: End): Shown {
  if ('page' in end) return end.page;
  throw new Error(`redirected to the client: ${end.client.href}`);
}

it('two servers on two ports share the cookies of a browser without conflicts', async () => {
  const clients = [
    await OAuthClient.register(gateways[0].issuer),
    await OAuthClient.register(gateways[1].issuer),
  ] as const;
  const browser = new ScriptedBrowser({ user: 'ann' });
  const flows = [await clients[0].begin(), await clients[1].begin(), await clients[0].begin()] as const;
  const owners = [clients[0], clients[1], clients[0]] as const;
  const pages = [];
  for (const flow of flows) pages.push(pageOf(await browser.open(flow.url)));
  const ends = [];
  for (const page of pages) ends.push(await browser.press(page, ['decision', 'approve']));
  for (const [index, flow] of flows.entries()) {
    let end = ends[index];
    while (end && 'page' in end) end = await browser.answer(end.page);
    const tokens = await owners[index]?.redeem(end?.client ?? new URL(CLIENT_URL), flow);
    expect(tokens?.access_token).toBeDefined();
  }
});

it('row 35: a token of one server is invalid at the other', async () => {
  const client = await OAuthClient.register(gateways[0].issuer);
  const { access_token: token } = await client.login(new ScriptedBrowser({ user: 'bob' }));
  const status = async ({ url }: Gateway) =>
    (await raw(url, { method: 'POST', headers: { ...MCP_HEADERS, ...bearer(token) }, body: initializeRequest() }))
      .status;
  expect([await status(gateways[0]), await status(gateways[1])]).toEqual([200, 401]);
});

it('row 1: no request reaches a provider before an approval, even with an active login there', async () => {
  const [gateway] = gateways;
  const client = await OAuthClient.register(gateway.issuer);
  const victim = new ScriptedBrowser({ user: 'victim' });
  await client.login(victim);
  const attacker = await OAuthClient.register(gateway.issuer, {
    client_name: 'attacker',
    redirect_uris: ['https://attacker.example/cb'],
  });
  const before = { ...gateway.around.chat.counts };
  const asked = pageOf(await victim.open((await attacker.begin({ redirectUri: 'https://attacker.example/cb' })).url));
  expect(asked.body).toContain('attacker.example');
  expect(asked.url.origin).toBe(gateway.issuer);
  expect(gateway.around.chat.counts).toEqual(before);
});
