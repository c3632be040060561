import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLIENT_URL, ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { startAuthServer, type Gateway } from '../auth-server/gateway.ts';
import { OAuthClient } from '../auth-server/oauth-client.ts';
import { answerJson, startLyingProvider, type LyingProvider } from './lying-provider.ts';

/** Secret in every answer of the provider; the gateway may send it to nobody else. */
const SECRET = 'secret-of-the-provider-0123456789';
const TOKEN = { access_token: SECRET, token_type: 'bearer', expires_in: 3_600 };
const USER = { id: 4711, name: 'Ann' };
const MIB = 1024 * 1024;

const scope = blockScope();
let provider: LyingProvider;
let gateway: Gateway;
let client: OAuthClient;

beforeAll(async () => {
  provider = await startLyingProvider(scope);
  gateway = await startAuthServer(scope, {
    operational: { logLevel: 'debug' },
    authServer: { upstreamProviders: [provider.entry('corp'), provider.entry('chat')] },
  });
  client = await OAuthClient.register(gateway.issuer);
});

beforeEach(() => {
  provider.token = answerJson(TOKEN);
  provider.user = answerJson(USER);
  provider.asked.length = 0;
});

const login = async (): Promise<URL> => new ScriptedBrowser().login((await client.begin()).url);

const silent: RequestListener = () => undefined;
const cut: RequestListener = (_req, res) => res.destroy();
const page: RequestListener = (_req, res) => {
  res.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${SECRET}</p>`);
};
const elsewhere =
  (status: number): RequestListener =>
  (_req, res) => {
    res.writeHead(status, { location: '/elsewhere' }).end();
  };
const bomb: RequestListener = (_req, res) => {
  const body = gzipSync(JSON.stringify({ ...TOKEN, ...USER, filler: ' '.repeat(64 * MIB) }));
  res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(body);
};
const dripping: RequestListener = (_req, res) => {
  res.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => res.write(' '), 200);
  res.once('close', () => {
    clearInterval(timer);
  });
};

const token = (change: Readonly<Record<string, unknown>>) => answerJson({ ...TOKEN, ...change });
const user = (id: unknown) => answerJson({ id, name: SECRET });

type Case = readonly [what: string, member: 'token' | 'user', answer: RequestListener];

/** Rows: docs/threats.md. */
const CASES: readonly Case[] = [
  ['row 69: another kind of token', 'token', token({ token_type: 'mac' })],
  ['row 69: an empty token', 'token', token({ access_token: '' })],
  ['row 69: a token that is no text', 'token', token({ access_token: { value: SECRET } })],
  ['row 69: 2 MiB', 'token', token({ filler: 'x'.repeat(2 * MIB) })],
  ['row 69: a reply that unpacks to 64 MiB', 'token', bomb],
  ['row 69: 200 with an error', 'token', answerJson({ ok: false, error: SECRET })],
  ['row 56: a token with a line break', 'token', token({ access_token: `${SECRET}\r\nX-Injected: 1` })],
  ['row 58: an error that quotes a secret', 'token', answerJson({ error: 'x', error_description: SECRET }, 400)],
  ['row 58: a page in place of JSON', 'token', page],
  ['row 45: 302 to another place', 'token', elsewhere(302)],
  ['row 65: 307 to another place', 'token', elsewhere(307)],
  ['row 68: a subject that is an array', 'user', user([SECRET])],
  ['row 68: a subject that is an object', 'user', user({ toString: SECRET })],
  ['row 68: an empty subject', 'user', user('')],
  ['row 68: a number that no text gives back', 'user', user(1e21)],
  ['row 68: no subject', 'user', answerJson({ __proto__: { id: 1 } })],
  ['row 68: a page in place of JSON', 'user', page],
  ['row 68: 2 MiB about the user', 'user', answerJson({ ...USER, filler: 'x'.repeat(2 * MIB) })],
  ['row 45: 302 from the user to another place', 'user', elsewhere(302)],
];

describe('a malicious provider', () => {
  it('can log users in with correct answers', async () => {
    expect((await login()).searchParams.get('code')).toBeTypeOf('string');
  });

  it.each(CASES)('%s: the client gets server_error without details', async (_what, member, answer) => {
    provider[member] = answer;
    const end = await login();
    expect(end.href.startsWith(`${CLIENT_URL}?`)).toBe(true);
    expect(end.searchParams.get('error')).toBe('server_error');
    expect(end.searchParams.get('iss')).toBe(gateway.issuer);
    expect(end.href).not.toContain(SECRET);
    expect(provider.asked).not.toContain('/elsewhere');
  });

  it('has no secrets in the log', async () => {
    await expect.poll(gateway.vmcp.output).toContain('"event":"login_leg_failed"');
    for (const secret of ['code-of-the-provider', `access_token":"${SECRET}`, `Bearer ${SECRET}`])
      expect(gateway.vmcp.output()).not.toContain(secret);
  });
});

describe('a slow or broken provider', () => {
  it.each([
    ['does not answer', silent],
    ['answers without end', dripping],
    ['cuts the connection', cut],
    ['answers 503', answerJson({ error: SECRET }, 503)],
  ] as const)('%s: the client gets an error in time, and other requests are served', async (_what, answer) => {
    provider.token = answer;
    const waiting = login();
    const begun = performance.now();
    expect((await fetch(`${gateway.issuer}/.well-known/jwks.json`)).status).toBe(200);
    expect(performance.now() - begun).toBeLessThan(4_000);
    const end = await waiting;
    expect(end.searchParams.get('error')).toMatch(/^(?:temporarily_unavailable|server_error)$/u);
    expect(end.href).not.toContain(SECRET);
  });
});
