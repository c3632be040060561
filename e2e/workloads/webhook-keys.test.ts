import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

/** Starts a webhook that allows every call and keeps its requests. */
async function startWebhook(scope: Scope) {
  const requests: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ headers: request.headers, body });
      const { version, uid } = JSON.parse(body) as { version: string; uid: string };
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ version, uid, allowed: true }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => server.close());
  return { requests, url: `http://127.0.0.1:${String((server.address() as { port: number }).port)}/` };
}

it('signs with a secret of the provider, does not start without one, and refuses keys as values', async () => {
  const scope = testScope();
  const { send, find, reaches } = await serveWorkloads(scope, await temporaryFolder(scope));
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const webhook = await startWebhook(scope);
  const hook = { name: 'w', url: webhook.url, allow_private_ips: true, insecure_allow_http: true };
  const base = { name: 'a', remote_url: backend.url, transport: 'streamable-http' };
  const key = 'val-4711-of-at-least-32-characters';

  for (const member of [
    { validating_webhooks: [{ ...hook, hmac_secret: key }] },
    {
      middleware_configs: [{ type: 'validating-webhook', parameters: { webhooks: [{ ...hook, hmac_secret: key }] } }],
    },
  ]) {
    const refused = await send('POST', '/workloads/import', { ...base, ...member });
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('name that secret in hmac_secret_ref'),
    ]);
    expect(refused.text).not.toContain('val-4711');
  }

  await send('POST', '/secrets', { provider_type: 'encrypted' });
  const config = { ...base, validating_webhooks: [{ ...hook, hmac_secret_ref: 'hook-key,target=x' }] };
  expect(await send('POST', '/workloads/import', config)).toMatchObject({ status: 201 });
  await expect
    .poll(async () => (await send('GET', '/workloads/a/status')).json, { timeout: 20_000 })
    .toMatchObject({
      status: 'error',
      status_context: expect.stringContaining('there is no secret "hook-key"') as string,
    });

  expect((await send('POST', '/secrets/default/keys', { key: 'hook-key', value: key })).status).toBe(201);
  await send('POST', '/workloads/a/restart');
  await reaches('a', 'running');
  expect(await callTool((await find('a')).url, 'echo', { text: 'hi' })).toContain('hi');
  const [{ headers, body }] = webhook.requests as [(typeof webhook.requests)[0]];
  const signed = `${String(headers['x-webhook-timestamp'])}.${body}`;
  expect(headers['x-webhook-signature']).toBe(`sha256=${createHmac('sha256', key).update(signed).digest('hex')}`);
});
