import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { startGateway } from '../../gateway/process/gateway.ts';
import { createLog } from '../../gateway/telemetry/log.ts';
import { startPersonalBackend, type PersonalBackend } from '../harness/backends/personal.ts';
import { openSession, rpc, rpcReply, type RawSession } from '../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { blockScope } from '../harness/scope.ts';
import { MemoryUpstreamTokens } from '../harness/upstream-tokens.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

const scope = blockScope();
const logins = new MemoryUpstreamTokens();
let issuer: Issuer;
/** Backends by the strategy of their credential. */
let backends: Readonly<Record<'own' | 'stored' | 'injected', PersonalBackend>>;
let url = '';

beforeAll(async () => {
  issuer = await startIssuer(scope);
  const [own, stored, injected] = [
    await startPersonalBackend(scope),
    await startPersonalBackend(scope),
    await startPersonalBackend(scope),
  ];
  backends = { own, stored, injected };
  const secret = join(await temporaryFolder(scope), 'client-secret');
  writeFileSync(secret, issuer.clientSecret);
  const gateway = await startGateway({
    servers: [{ config: configOf(secret), host: '127.0.0.1', port: 0 }],
    management: { host: '127.0.0.1', port: 0 },
    log: createLog(new PassThrough().resume(), 'error'),
    version: '0.0.0',
    upstreamTokens: logins,
  });
  scope.defer(() => gateway.stop(0));
  url = gateway.servers[0]?.mcpUrl ?? '';
});

function configOf(client_secret_file: string): GatewayConfig {
  const client = { token_url: issuer.tokenUrl, client_id: issuer.clientId, client_secret_file };
  return {
    schema_version: 'v0.1.0',
    name: 'refusals',
    oidc_config: { issuer: issuer.url, audience: 'vmcp' },
    vmcp: {
      incoming: { type: 'oidc' },
      backends: Object.entries(backends).map(([name, backend]) => ({
        name,
        transport: 'streamable-http',
        url: backend.url,
      })),
      outgoing_auth: {
        own: { type: 'token_exchange', ...client, audience: 'own' },
        stored: { type: 'token_exchange', ...client, audience: 'stored', subject_provider_name: 'corp' },
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
  };
}

/** Opens a session of a user who has logged in at both providers; each refresh returns a new token. */
async function sessionOf(subject: string): Promise<RawSession> {
  const owner = { tsid: `login-of-${subject}`, subject, clientId: 'test-client' };
  for (const provider of ['corp', 'github']) {
    let count = 0;
    const grant = () => ({ accessToken: issuer.token({ sub: subject, aud: provider, n: (count += 1) }) });
    logins.put(owner, provider, { ...grant(), refresh: async () => grant() });
  }
  const authorization = `Bearer ${issuer.token({ sub: subject, tsid: owner.tsid })}`;
  const session = await openSession(url, undefined, { authorization });
  await session.tools();
  return session;
}

const callTo = (backend: string): string => rpc('tools/call', { name: `${backend}_whoami`, arguments: {} });

const callsOf = (name: keyof typeof backends): number =>
  backends[name].seen.filter(({ what }) => what === 'tools/call').length;

describe('a second 401 of a backend', () => {
  it.each([
    ['injected', 'the stored login at provider \\"github\\" is missing or has ended: log in again'],
    ['stored', 'the stored login at provider \\"corp\\" is missing or has ended: log in again'],
    ['own', 'your token is not accepted for this backend: log in again'],
  ] as const)('of a credential that is %s names the provider of the login', async (name, description) => {
    const session = await sessionOf(`user-of-${name}`);
    backends[name].refuses = () => true;
    const before = callsOf(name);
    const refused = await session.post(callTo(name));
    backends[name].refuses = (authorization) => authorization === undefined;
    expect(callsOf(name) - before).toBe(2);
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain(`error_description="${description}"`);
  });
});

it('a 401 for an exchanged token refreshes the stored token that was its subject', async () => {
  const session = await sessionOf('ann');
  const before = issuer.seen.length;
  const sent = backends.stored.seen.findLast(({ what }) => what === 'tools/list')?.authorization;
  backends.stored.refuses = (authorization) => authorization === undefined || authorization === sent;
  expect(rpcReply(await session.post(callTo('stored'))).text).toContain('whoami for ann');
  const subjects = issuer.seen.slice(before).map(({ form }) => payloadOf(form.get('subject_token') ?? '')['n']);
  expect(subjects).toEqual([2]);
});

it('a token endpoint that is down gives a result with the time of the next attempt', async () => {
  const session = await sessionOf('bob');
  const authorization = `Bearer ${issuer.token({ sub: 'bob', tsid: 'login-of-bob', n: 2 })}`;
  issuer.behave = { token: 'reset' };
  const { result } = rpcReply(await session.post(callTo('own'), { headers: { authorization } }));
  issuer.behave = {};
  expect(result).toMatchObject({ isError: true, _meta: { 'vmcp.dev/retryAfterSeconds': 5 } });
});

const payloadOf = (jwt: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
