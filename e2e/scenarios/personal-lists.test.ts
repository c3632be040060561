import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../gateway/contract/identity.ts';
import type { Gateway } from '../../gateway/process/gateway.ts';
import { CredentialError } from '../../gateway/outgoing/authenticator.ts';
import type { UpstreamTokens } from '../../gateway/outgoing/upstream-tokens.ts';
import { bearerOf, startGatewayOver } from '../harness/authenticated-gateway.ts';
import { startPersonalBackend, type PersonalBackend } from '../harness/backends/personal.ts';
import { openSession, raw, type RawSession } from '../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

/** Upstream tokens by subject, in place of the embedded authorization server. */
class Logins implements UpstreamTokens {
  readonly tokens = new Map<string, string>();
  /** Tokens that `get` had to replace. */
  readonly refused: string[] = [];

  get({ subject }: { readonly subject: string }, provider: string, need: { readonly refused?: Secret } = {}) {
    const token = this.tokens.get(subject);
    if (need.refused) this.refused.push(need.refused.reveal());
    if (token === undefined || token === need.refused?.reveal())
      throw new CredentialError('reauthenticate', 'no login is stored', provider);
    return { accessToken: new Secret(token) };
  }
}

const scope = blockScope();
const logins = new Logins();
let issuer: Issuer;
let exchanged: PersonalBackend;
let injected: PersonalBackend;
let gateway: Gateway;
let url = '';

beforeAll(async () => {
  issuer = await startIssuer(scope);
  exchanged = await startPersonalBackend(scope);
  injected = await startPersonalBackend(scope);
  const secret = join(await temporaryFolder(scope), 'client-secret');
  writeFileSync(secret, `${issuer.clientSecret}\n`);
  const parts = {
    issuer,
    backends: [
      { name: 'exchanged', transport: 'streamable-http' as const, url: exchanged.url },
      { name: 'injected', transport: 'streamable-http' as const, url: injected.url },
    ],
    outgoing: {
      exchanged: {
        type: 'token_exchange',
        token_url: issuer.tokenUrl,
        client_id: issuer.clientId,
        client_secret_file: secret,
        audience: 'exchanged-backend',
      },
      injected: { type: 'upstream_inject', provider_name: 'github' },
    },
  };
  ({ gateway, url } = await startGatewayOver(scope, parts, { upstreamTokens: logins }));
});

const bearer = (subject: string) => bearerOf(issuer, subject);

const open = (subject: string): Promise<RawSession> => openSession(url, undefined, bearer(subject));

const loggedIn = (subject: string): void => {
  logins.tokens.set(subject, issuer.token({ sub: subject, aud: 'github' }));
};

describe('lists of backends with credentials of the user', () => {
  it('contain only the tools of the user; tools of other users are unknown', async () => {
    loggedIn('alice');
    loggedIn('bob');
    const [alice, bob] = [await open('alice'), await open('bob')];
    expect(await alice.tools()).toEqual([
      'exchanged_of-alice',
      'exchanged_whoami',
      'injected_of-alice',
      'injected_whoami',
    ]);
    expect(await bob.tools()).toContain('exchanged_of-bob');
    expect((await bob.call('exchanged_whoami')).text).toContain('whoami for bob');
    expect((await alice.call('injected_whoami')).text).toContain('whoami for alice');
    expect((await alice.call('exchanged_of-bob')).error).toMatchObject({ code: -32602 });
  });

  it('that change are announced only to their user', async () => {
    const [alice, bob] = [await open('alice'), await open('bob')];
    await Promise.all([alice.tools(), bob.tools()]);
    const received = { alice: '', bob: '' };
    const listening = new AbortController();
    for (const [name, session] of Object.entries({ alice, bob }) as ['alice' | 'bob', RawSession][]) {
      const headers = { ...session.headers, accept: 'text/event-stream' };
      const stream = await fetch(url, { headers, signal: listening.signal });
      void (async () => {
        for await (const chunk of stream.body ?? []) received[name] += Buffer.from(chunk as Uint8Array).toString();
      })().catch(() => undefined);
    }
    await eventually('both streams are open', () => exchanged.seen.filter(({ what }) => what === 'GET').length >= 2);
    exchanged.addTool('alice', 'new');
    await eventually('alice is notified', () => received.alice.includes('notifications/tools/list_changed'));
    expect(await alice.tools()).toContain('exchanged_new');
    expect(await bob.tools()).not.toContain('exchanged_new');
    expect(received.bob).not.toContain('list_changed');
    listening.abort();
  });

  it('omit a backend without a login; a call to it requests the login, which adds the backend', async () => {
    const carol = await open('carol');
    expect(await carol.tools()).toEqual(['exchanged_of-carol', 'exchanged_whoami']);
    const refused = await carol.post(call('injected_whoami'));
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toMatch(/^Bearer resource_metadata="http:.*", error="invalid_token"/);
    expect(refused.headers['www-authenticate']).toContain('github');
    expect((await carol.call('exchanged_whoami')).text).toContain('whoami for carol');
    loggedIn('carol');
    const again = { headers: bearer('carol') };
    expect((await carol.call('injected_whoami', {}, again)).text).toContain('whoami for carol');
  });

  it('never carry the token of the client', () => {
    const tokens = [...exchanged.seen, ...injected.seen].flatMap(({ authorization }) => authorization ?? []);
    expect(tokens.length).toBeGreaterThan(0);
    for (const token of tokens) expect(claimsOf(token)['aud']).not.toBe('vmcp');
  });
});

describe('a backend that answers 401', () => {
  it('gets a new credential once, and the call succeeds', async () => {
    const dave = await open('dave');
    await dave.tools();
    const before = exchanged.seen.findLast(({ what }) => what === 'tools/list')?.authorization;
    exchanged.refuses = (authorization) => authorization === undefined || authorization === before;
    expect((await dave.call('exchanged_whoami')).text).toContain('whoami for dave');
    expect(exchanged.seen.at(-1)?.authorization).not.toBe(before);
  });

  it('turns the second 401 into a challenge for that request only', async () => {
    loggedIn('erin');
    const erin = await open('erin');
    await erin.tools();
    exchanged.refuses = () => true;
    const callsBefore = exchanged.seen.filter(({ what }) => what === 'tools/call').length;
    const refused = await erin.post(call('exchanged_whoami'));
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(exchanged.seen.filter(({ what }) => what === 'tools/call').length - callsBefore).toBe(2);
    expect((await erin.call('injected_whoami')).text).toContain('whoami for erin');
    expect(await erin.tools()).toContain('exchanged_whoami');
    exchanged.refuses = (authorization) => authorization === undefined;
    expect((await erin.call('exchanged_whoami')).text).toContain('whoami for erin');
  });

  it('is healthy: only the user is missing', async () => {
    const { body } = await raw(`${gateway.managementUrl}/api/backends/health`);
    const { backends } = JSON.parse(body) as { backends: Record<string, { status: string }> };
    expect(Object.values(backends).map(({ status }) => status)).toEqual(['healthy', 'healthy']);
  });
});

const call = (name: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {} } });

const claimsOf = (authorization: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
