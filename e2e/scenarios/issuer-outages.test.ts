import { describe, expect, it } from 'vitest';
import { MCP_HEADERS, raw, rpc } from '../harness/clients/raw.ts';
import { freePort } from '../harness/free-port.ts';
import { startIdentityProvider } from '../harness/identity-provider.ts';
import { startIssuer } from '../harness/issuer.ts';
import { entry, group, virtualServer, yaml } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { bearer, openBearerSession } from './bearer-session.ts';
import { startCredentialBackend } from './credential-backend.ts';

/** Starts a gateway over one backend that accepts tokens of this issuer for the audience `vmcp`. */
async function gatewayFor(scope: Scope, issuer: string) {
  const news = await startCredentialBackend(scope, 'news');
  const inline = { issuer, audience: 'vmcp' };
  const incomingAuth = { type: 'oidc', oidcConfig: { type: 'inline', inline } };
  const files = { 'gateway.yaml': yaml(group(), virtualServer({}, { incomingAuth }), entry('news', news.url)) };
  return startVmcp(scope, { files });
}

const ask = (url: string, token: string) =>
  raw(url, { method: 'POST', headers: { ...MCP_HEADERS, ...bearer(token) }, body: rpc('tools/list') });

describe('an issuer that does not answer', () => {
  it('before the first token: requests get 503 with Retry-After until it answers', async () => {
    const scope = testScope();
    const port = await freePort();
    const vmcp = await gatewayFor(scope, `http://127.0.0.1:${String(port)}`);
    const elsewhere = await startIssuer(scope);
    const early = await ask(vmcp.url, elsewhere.token({ iss: `http://127.0.0.1:${String(port)}` }));
    expect({ status: early.status, body: JSON.parse(early.body) as unknown }).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
    });
    expect(early.headers['retry-after']).toMatch(/^\d+$/u);
    expect(early.headers['www-authenticate']).toBeUndefined();
    const provider = await startIdentityProvider(scope, { port });
    const token = await provider.token('ann', 'vmcp');
    const session = await eventually('the gateway has the keys', () => openBearerSession(vmcp.url, token));
    expect((await session.call('news_whoami')).body).toContain('"result"');
  });

  it('afterwards: sessions continue, and new tokens are accepted with the known keys', async () => {
    const scope = testScope();
    const provider = await startIdentityProvider(scope);
    const vmcp = await gatewayFor(scope, provider.issuer);
    const session = await openBearerSession(vmcp.url, await provider.token('ann', 'vmcp'));
    const unseen = await provider.token('bob', 'vmcp');
    await provider.kill();
    for (let call = 0; call < 5; call += 1) expect((await session.call('news_whoami')).status).toBe(200);
    expect((await (await openBearerSession(vmcp.url, unseen)).call('news_whoami')).status).toBe(200);
  });
});

describe('an issuer that rotates its keys', () => {
  it('under load: accepts every valid token, and fetches the keys once', async () => {
    const scope = testScope();
    const issuer = await startIssuer(scope);
    const vmcp = await gatewayFor(scope, issuer.url);
    const sessions = await Promise.all(
      ['ann', 'bob', 'carol'].map((sub) => openBearerSession(vmcp.url, issuer.token({ sub }))),
    );
    const fetches = () => issuer.seen.filter(({ endpoint }) => endpoint === 'jwks').length;
    const before = fetches();
    const statuses: number[] = [];
    let rotated = false;
    const load = sessions.map(async (session, index) => {
      for (let call = 0; call < 60; call += 1) {
        const sub = ['ann', 'bob', 'carol'][index];
        const fresh = rotated ? bearer(issuer.token({ sub })) : undefined;
        const answer = await session.post('tools/call', { name: 'news_whoami', arguments: {} }, fresh);
        statuses.push(answer.status);
        if (call === 20) {
          if (!rotated) issuer.rotate({ keep: true });
          rotated = true;
        }
      }
    });
    await Promise.all(load);
    expect(statuses).toHaveLength(180);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(fetches() - before).toBe(1);
  });

  it('rejects a token of a removed key after the next fetch of the keys', async () => {
    const scope = testScope();
    const issuer = await startIssuer(scope);
    const vmcp = await gatewayFor(scope, issuer.url);
    const old = issuer.token({ sub: 'ann' });
    expect((await openBearerSession(vmcp.url, old)).id).toBeTypeOf('string');
    issuer.rotate();
    expect((await openBearerSession(vmcp.url, issuer.token({ sub: 'bob' }))).id).toBeTypeOf('string');
    expect((await ask(vmcp.url, old)).status).toBe(401);
  });
});
