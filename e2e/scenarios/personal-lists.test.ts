import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../gateway/contract/identity.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { startGateway, type Gateway } from '../../gateway/main.ts';
import { CredentialError } from '../../gateway/outgoing/authenticator.ts';
import type { UpstreamTokens } from '../../gateway/outgoing/upstream-tokens.ts';
import { createLog } from '../../gateway/telemetry/log.ts';
import { startPersonalBackend, type PersonalBackend } from '../harness/backends/personal.ts';
import { openSession, raw, type RawSession } from '../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

/** Fills the seam of the embedded authorization server: logins by subject. */
class Logins implements UpstreamTokens {
  readonly tokens = new Map<string, string>();
  /** What `get` was told to renew. */
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
  gateway = await startGateway({
    servers: [{ config: configOf(secret), host: '127.0.0.1', port: 0 }],
    management: { host: '127.0.0.1', port: 0 },
    log: createLog(new PassThrough().resume(), 'error'),
    version: '0.0.0',
    upstreamTokens: logins,
  });
  scope.defer(() => gateway.stop(0));
  url = gateway.servers[0]?.mcpUrl ?? '';
});

const configOf = (secretFile: string): GatewayConfig => ({
  schema_version: 'v0.1.0',
  name: 'personal',
  oidc_config: { issuer: issuer.url, audience: 'vmcp' },
  vmcp: {
    incoming: { type: 'oidc' },
    backends: [
      { name: 'exchanged', transport: 'streamable-http', url: exchanged.url },
      { name: 'injected', transport: 'streamable-http', url: injected.url },
    ],
    outgoing_auth: {
      exchanged: {
        type: 'token_exchange',
        token_url: issuer.tokenUrl,
        client_id: issuer.clientId,
        client_secret_file: secretFile,
        audience: 'exchanged-backend',
      },
      injected: { type: 'upstream_inject', provider_name: 'github' },
    },
    aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
    operational: {
      timeouts: { default: '5s' },
      failure_handling: {
        health_check_interval: '30s',
        health_check_timeout: '5s',
        unhealthy_threshold: 3,
        circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
      },
    },
  },
});

const bearer = (subject: string): { authorization: string } => ({
  authorization: `Bearer ${issuer.token({ sub: subject, tsid: `login-of-${subject}` })}`,
});

const open = (subject: string): Promise<RawSession> => openSession(url, undefined, bearer(subject));

const loggedIn = (subject: string): void => {
  logins.tokens.set(subject, issuer.token({ sub: subject, aud: 'github' }));
};

describe('lists of backends that are called with the caller’s own credential', { timeout: 30_000 }, () => {
  it('are those of the caller, and names of others lead nowhere', async () => {
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

  it('stay with their owner when they change, who alone is told', async () => {
    const [alice, bob] = [await open('alice'), await open('bob')];
    await Promise.all([alice.tools(), bob.tools()]);
    const heard = { alice: '', bob: '' };
    const listening = new AbortController();
    for (const [name, session] of Object.entries({ alice, bob }) as ['alice' | 'bob', RawSession][]) {
      const headers = { ...session.headers, accept: 'text/event-stream' };
      const stream = await fetch(url, { headers, signal: listening.signal });
      void (async () => {
        for await (const chunk of stream.body ?? []) heard[name] += Buffer.from(chunk as Uint8Array).toString();
      })().catch(() => undefined);
    }
    await eventually('both streams are open', () => exchanged.seen.filter(({ what }) => what === 'GET').length >= 2);
    exchanged.addTool('alice', 'new');
    await eventually('alice is told', () => heard.alice.includes('notifications/tools/list_changed'));
    expect(await alice.tools()).toContain('exchanged_new');
    expect(await bob.tools()).not.toContain('exchanged_new');
    expect(heard.bob).not.toContain('list_changed');
    listening.abort();
  });

  it('lack a backend whose login is missing; calling it asks for the login, and the login brings it', async () => {
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

describe('a backend that answers 401', { timeout: 30_000 }, () => {
  it('gets a new credential once, and the call succeeds', async () => {
    const dave = await open('dave');
    await dave.tools();
    const before = exchanged.seen.findLast(({ what }) => what === 'tools/list')?.authorization;
    exchanged.refuses = (authorization) => authorization === undefined || authorization === before;
    expect((await dave.call('exchanged_whoami')).text).toContain('whoami for dave');
    expect(exchanged.seen.at(-1)?.authorization).not.toBe(before);
  });

  it('makes the second 401 a challenge for that request, and for nothing else', async () => {
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

  it('is healthy: it only wants a user', async () => {
    const { body } = await raw(`${gateway.managementUrl}/api/backends/health`);
    const { backends } = JSON.parse(body) as { backends: Record<string, { status: string }> };
    expect(Object.values(backends).map(({ status }) => status)).toEqual(['healthy', 'healthy']);
  });
});

const call = (name: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {} } });

const claimsOf = (authorization: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
