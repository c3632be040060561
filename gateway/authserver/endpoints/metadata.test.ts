import { describe, expect, it, onTestFinished } from 'vitest';
import { SigningKeys, newSigningKey } from '../keys/signing-keys.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientServer, ISSUER, settingsFor, silent } from './testdata/client-server.ts';

const OAUTH = ['//.well-known/oauth-authorization-server/team', '/.well-known/oauth-authorization-server'];
const OPENID = ['//.well-known/openid-configuration/team', '/.well-known/openid-configuration'];
const JWKS = '/.well-known/jwks.json';

describe('metadata', () => {
  it.each([...OAUTH, ...OPENID, JWKS])('is public at %s, cacheable for five minutes', async (path) => {
    const server = await clientServer();
    const reply = await server.request(path);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('cache-control')).toBe('public, max-age=300');
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
    const head = await server.request(path, { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
    const post = await server.request(path, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it.each([
    '//.well-known/oauth-authorization-server',
    '//.well-known/oauth-authorization-server/team/mcp',
    '//.well-known/oauth-authorization-server/teamX',
    '//.well-known/oauth-authorization-serverX/team',
    '//.well-known/oauth-authorization-server/team/',
    '//.well-known/openid-configuration/TEAM',
    '//.well-known/jwks.json',
  ])('is not served at %s', async (path) => {
    const server = await clientServer();
    const reply = await server.request(path);
    expect([reply.status, reply.json]).toEqual([404, { error: 'handed_on' }]);
  });

  it('row 49: does not depend on the Host header', async () => {
    const server = await clientServer();
    const forged = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', forwarded: 'host=evil.example' };
    for (const path of [...OAUTH, ...OPENID]) {
      const reply = await server.request(path, { headers: forged });
      expect(reply.json['issuer']).toBe(ISSUER);
      expect(reply.json['token_endpoint']).toBe(`${ISSUER}/oauth/token`);
      expect(reply.text).not.toMatch(/evil|127\.0\.0\.1/);
    }
  });

  it('lists the supported features only', async () => {
    const server = await clientServer();
    expect((await server.request(OAUTH[0] ?? '')).json).toMatchObject({
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      client_id_metadata_document_supported: false,
    });
    expect((await server.request(OPENID[1] ?? '')).json).toMatchObject({
      userinfo_endpoint: `${ISSUER}/oauth/userinfo`,
      end_session_endpoint: `${ISSUER}/oauth/logout`,
      id_token_signing_alg_values_supported: ['ES256'],
    });
    const { clients } = settingsFor();
    const metadata = { ...clients.metadata, allowConfidential: false };
    const other = await clientServer({ settings: { clients: { ...clients, metadata } } });
    const { json } = await other.request(OAUTH[0] ?? '');
    expect(json['token_endpoint_auth_methods_supported']).toEqual(['none']);
    expect(json).not.toHaveProperty('introspection_endpoint_auth_methods_supported');
  });
});

it('row 72: publishes and accepts a fallback key until it is removed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-keys-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const files = ['old.pem', 'new.pem'].map((name) => join(folder, name));
  for (const file of files)
    writeFileSync(file, newSigningKey().privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
  const [old = '', fresh = ''] = files;
  const open = (...used: string[]) => new SigningKeys({ files: used, log: silent });
  const before = await clientServer({ keys: open(old) });
  const { access_token: token } = await before.login();
  const { store } = before.context;
  const verdict = async (keys: SigningKeys): Promise<readonly [number, number]> => {
    const server = await clientServer({ store, keys });
    const headers = { authorization: `Bearer ${String(token)}` };
    const { json } = await server.request(JWKS);
    return [(await server.request('/oauth/userinfo', { headers })).status, (json['keys'] as unknown[]).length];
  };
  expect(await verdict(open(fresh, old))).toEqual([200, 2]);
  expect(await verdict(open(fresh))).toEqual([401, 1]);
});
