import { connect } from 'node:net';
import { createServer } from 'node:tls';
import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { createAuthority } from '../../../gateway/outbound/testdata/authority.ts';
import { hasChromium, signIn, startChromium, startClientCallback } from '../../harness/browser/chromium.ts';
import { freePort } from '../../harness/free-port.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { startAuthServer } from './gateway.ts';
import { OAuthClient } from './oauth-client.ts';

/** Starts a proxy that terminates TLS in front of a gateway. */
async function startTlsProxy(scope: Scope, port: number, target: number): Promise<void> {
  const server = createServer(createAuthority('authority of the tests').sign('IP:127.0.0.1'), (socket) => {
    const upstream = connect(target, '127.0.0.1');
    socket.pipe(upstream).pipe(socket);
    for (const end of [socket, upstream]) end.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  scope.defer(() => server.close());
}

it.runIf(hasChromium)('row 62: over https, a real browser accepts only __Host- cookies, and logs in', async () => {
  const scope = testScope();
  const port = await freePort();
  const issuer = `https://127.0.0.1:${String(port)}`;
  const gateway = await startAuthServer(scope, { issuer });
  await startTlsProxy(scope, port, gateway.vmcp.port);
  const callback = await startClientCallback(scope);
  const answer = await fetch(`${gateway.vmcp.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'over https', redirect_uris: [callback.url] }),
  });
  const { client_id: id } = (await answer.json()) as { client_id: string };
  const server = { issuer, authorization_endpoint: `${issuer}/oauth/authorize` };
  const flow = await new OAuthClient(server, { client_id: id }).begin({ redirectUri: callback.url });

  const context = await (await startChromium(scope)).newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(flow.url.href);
  const [bound] = await context.cookies(issuer);
  expect(bound).toMatchObject({ secure: true, httpOnly: true, sameSite: 'Lax', path: '/' });
  expect(bound?.name).toMatch(/^__Host-/u);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.waitForURL(({ origin }) => origin === gateway.around.corp.issuer);
  await signIn(page, callback, 'ann');

  const returned = callback.calls.at(-1)?.searchParams;
  expect(Object.fromEntries(returned ?? [])).toMatchObject({ iss: issuer, state: flow.state });
  const tokens = await fetch(`${gateway.vmcp.origin}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: id,
      code: returned?.get('code') ?? '',
      redirect_uri: callback.url,
      code_verifier: flow.verifier,
    }),
  });
  const { access_token: token } = (await tokens.json()) as { access_token: string };
  expect(decodeJwt(token)).toMatchObject({ iss: issuer, aud: `${issuer}/mcp` });
});
