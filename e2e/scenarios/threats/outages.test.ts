import { beforeAll, describe, expect, it } from 'vitest';
import { startMcpServer } from '../../faults/mcp-server.ts';
import { sendBytes } from '../../harness/clients/bytes.ts';
import { initializeRequest, openSession, rpc, textOf, type RawResponse } from '../../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { entry, group, secret, virtualServer, yaml } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, printOnFailure, testScope } from '../../harness/scope.ts';
import { startVmcp, writeFiles, type Vmcp } from '../../harness/vmcp.ts';
import { openAs } from './session.ts';
import { AUDIENCE, MCP_LINES, portOf, protectedServer, refusalOf } from './world.ts';

const scope = blockScope();

const present = (port: number, token: string): Promise<RawResponse> =>
  sendBytes(port, { lines: [...MCP_LINES, `Authorization: Bearer ${token}`], body: initializeRequest() });

const issuerOf = (): Promise<Issuer> => startIssuer(scope, { audience: AUDIENCE, algorithms: ['ES256'] });

const withIntrospection = (issuer: Issuer) => ({
  issuer: issuer.url,
  audience: AUDIENCE,
  clientId: issuer.clientId,
  clientSecretRef: { name: 'client', key: 'secret' },
});

/** Starts one process with a server for each of these issuers. */
async function gatewayFor(
  issuers: Readonly<Record<string, Issuer>>,
): Promise<{ vmcp: Vmcp; port: (name: string) => number }> {
  const backend = await startMcpServer(scope, 'one');
  const servers = Object.entries(issuers).map(([name, issuer]) => protectedServer(name, withIntrospection(issuer)));
  const client = secret('client', { secret: 'vmcp-client-secret' });
  const text = yaml(group(), client, entry('one', backend.url), ...servers);
  const vmcp = await startVmcp(scope, { files: { 'gateway.yaml': text } });
  const ports = new Map<string, number>();
  for (const name of Object.keys(issuers)) ports.set(name, await portOf(vmcp, name));
  return { vmcp, port: (name) => ports.get(name) ?? 0 };
}

const UNAVAILABLE = { status: 503, challenged: false, error: undefined };

function expectUnavailable(answer: RawResponse): void {
  expect(refusalOf(answer)).toMatchObject(UNAVAILABLE);
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  expect(JSON.parse(answer.body)).toEqual({ error: 'temporarily_unavailable', error_description: expect.any(String) });
}

/** Row 45. `0.0.0.0` reaches this machine, and is not in an address class that a loopback issuer allows. */
describe('row 45: a document of the issuer cannot redirect the gateway to other addresses', () => {
  const ASTRAY: Readonly<Record<string, (trapPort: number) => string>> = {
    unspecified: (port) => `http://0.0.0.0:${String(port)}/jwks`,
    'short-unspecified': (port) => `http://0:${String(port)}/jwks`,
    'unspecified-v6': (port) => `http://[::]:${String(port)}/jwks`,
    'mapped-v6': (port) => `http://[::ffff:0.0.0.0]:${String(port)}/jwks`,
    userinfo: (port) => `http://user:password@127.0.0.1:${String(port)}/jwks`,
    file: () => 'file:///etc/passwd',
    relative: () => '/jwks',
    plain: () => 'http://issuer.invalid/jwks',
  };
  const issuers: Record<string, Issuer> = {};
  let trap: Issuer;
  let gateway: Awaited<ReturnType<typeof gatewayFor>>;

  beforeAll(async () => {
    trap = await issuerOf();
    for (const [name, urlOf] of Object.entries(ASTRAY)) {
      const issuer = await issuerOf();
      issuer.discoveryOverrides = { jwks_uri: urlOf(trap.port), introspection_endpoint: urlOf(trap.port) };
      issuers[name] = issuer;
    }
    const redirecting = await issuerOf();
    redirecting.behave = { jwks: 'redirect', introspection: 'redirect' };
    redirecting.redirectTo = `http://0.0.0.0:${String(trap.port)}/jwks`;
    const elsewhere = await issuerOf();
    elsewhere.behave = { jwks: 'redirect', introspection: 'redirect' };
    elsewhere.redirectTo = trap.jwksUrl; // a loopback address too, but another origin
    const mixedUp = await issuerOf();
    mixedUp.discoveryOverrides = { issuer: trap.url };
    const slashed = await issuerOf();
    slashed.discoveryOverrides = { issuer: `${slashed.url}/` };
    Object.assign(issuers, { redirecting, elsewhere, 'mixed-up': mixedUp, slashed });
    gateway = await gatewayFor(issuers);
  });

  it.concurrent.each([...Object.keys(ASTRAY), 'redirecting', 'elsewhere', 'mixed-up', 'slashed'])(
    '%s',
    async (name) => {
      const issuer = issuers[name]!;
      const [jwt, opaque] = await Promise.all([
        present(gateway.port(name), issuer.token()),
        present(gateway.port(name), issuer.opaqueToken()),
      ]);
      expectUnavailable(jwt);
      expectUnavailable(opaque);
      expect(trap.seen).toEqual([]);
    },
  );
});

describe('row 67: an issuer or its introspection is down', () => {
  let issuer: Issuer;
  let late: Issuer;
  let gateway: Awaited<ReturnType<typeof gatewayFor>>;

  beforeAll(async () => {
    issuer = await issuerOf();
    late = await issuerOf();
    await late.crash();
    gateway = await gatewayFor({ cached: issuer, late });
  });

  it('from the start: the gateway is ready, tokens get 503, requests without a token 401, until the issuer answers', async () => {
    const port = gateway.port('late');
    expect((await fetch(`http://127.0.0.1:${String(port)}/readyz`)).status).toBe(200);
    expectUnavailable(await present(port, late.token()));
    expectUnavailable(await present(port, late.opaqueToken()));
    const anonymous = await sendBytes(port, { lines: MCP_LINES, body: initializeRequest() });
    expect(refusalOf(anonymous)).toMatchObject({ status: 401, error: undefined, challenged: true });
    expect(refusalOf(await present(port, 'a b'))).toMatchObject({ status: 400, error: 'invalid_request' });
    await late.recover();
    const token = late.token();
    await eventually('tokens are accepted again', async () => (await present(port, token)).status === 200);
  });

  it('later: known users continue, tokens of known keys are accepted, other tokens get 503, not 401', async () => {
    const port = gateway.port('cached');
    const url = `http://127.0.0.1:${String(port)}/mcp`;
    const [ann, bob] = [
      await openAs(url, issuer.token({ sub: 'ann' })),
      await openAs(url, issuer.opaqueToken({ sub: 'bob' })),
    ];
    await issuer.crash();
    expect(textOf(await ann.call('one_tool', { text: 'jwt' }))).toBe('tool jwt');
    expect(textOf(await bob.call('one_tool', { text: 'opaque' }))).toBe('tool opaque');
    expect((await present(port, issuer.token({ sub: 'new user' }))).status).toBe(200);
    expectUnavailable(await present(port, issuer.opaqueToken({ sub: 'new user' })));
    expect((await present(port, issuer.token({ exp: 1 }))).status).toBe(401);
    await issuer.recover();
    expect((await present(port, issuer.opaqueToken({ sub: 'new user' }))).status).toBe(200);
  });

  it('hangs: requests get 503 in time, and others are served', async () => {
    const port = gateway.port('cached');
    const known = issuer.token();
    await present(port, known);
    issuer.behave.introspection = 'hang';
    const started = Date.now();
    const stuck = present(port, issuer.opaqueToken());
    expect((await present(port, known)).status).toBe(200);
    expect(Date.now() - started).toBeLessThan(5_000);
    expectUnavailable(await stuck);
    delete issuer.behave.introspection;
  });

  it('is logged a few times', async () => {
    const lines = () =>
      gateway.vmcp
        .output()
        .split('\n')
        .filter((line) => line.includes('requests get 503')).length;
    await expect.poll(lines).toBeGreaterThan(0);
    expect(lines()).toBeLessThan(10);
  });
});

describe('row 72: key rotation', () => {
  let both: Issuer;
  let replaced: Issuer;
  let gateway: Awaited<ReturnType<typeof gatewayFor>>;

  beforeAll(async () => {
    both = await issuerOf();
    replaced = await issuerOf();
    gateway = await gatewayFor({ both, replaced });
  });

  it('accepts old and new keys while both are in the key set, with one fetch for many users', async () => {
    const port = gateway.port('both');
    const old = both.keys[0]!;
    expect((await present(port, both.token())).status).toBe(200);
    const before = both.seen.filter(({ endpoint }) => endpoint === 'jwks').length;
    both.rotate({ keep: true });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_each, index) =>
        present(port, both.token({ sub: `user ${String(index)}` }, index % 2 === 0 ? {} : { key: old })),
      ),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(both.seen.filter(({ endpoint }) => endpoint === 'jwks').length - before).toBe(1);
  });

  it('rejects tokens of a removed key, even tokens that were accepted before', async () => {
    const port = gateway.port('replaced');
    const old = replaced.keys[0]!;
    const known = replaced.token({ sub: 'ann' });
    expect((await present(port, known)).status).toBe(200);
    replaced.rotate();
    expect((await present(port, replaced.token({ sub: 'ann' }))).status).toBe(200);
    expect(refusalOf(await present(port, replaced.token({ sub: 'bob' }, { key: old })))).toMatchObject({ status: 401 });
    expect(refusalOf(await present(port, known))).toMatchObject({ status: 401, error: 'invalid_token' });
  });
});

it('row 52: an anonymous session never becomes the session of a user, nor the reverse', async () => {
  const issuer = await issuerOf();
  const backend = await startMcpServer(testScope(), 'one');
  const open = yaml(group(), virtualServer(), entry('one', backend.url));
  const closed = yaml(
    group(),
    protectedServer('gateway', { issuer: issuer.url, audience: AUDIENCE }),
    entry('one', backend.url),
  );
  const vmcp = await startVmcp(testScope(), { files: { 'gateway.yaml': open }, args: ['--watch'] });
  printOnFailure(() => vmcp.output().slice(-4_000));
  const anonymous = await openSession(vmcp.url);
  const withToken = { headers: { authorization: `Bearer ${issuer.token()}` } };
  const list = rpc('tools/list');

  await writeFiles(vmcp.folder, { 'gateway.yaml': closed });
  await eventually('the server requires tokens', async () => (await anonymous.post(list)).status === 401);
  expect((await anonymous.post(list, withToken)).status).toBe(404);
  const owned = await openAs(vmcp.url, issuer.token());
  expect(textOf(await owned.call('one_tool', { text: 'mine' }))).toBe('tool mine');
  const bare = { headers: { authorization: 'Basic eDp5' } };
  expect((await owned.post(list, bare)).status).toBe(401);

  await writeFiles(vmcp.folder, { 'gateway.yaml': open });
  await eventually(
    'the server is open again',
    async () => (await openSession(vmcp.url).catch(() => undefined)) !== undefined,
  );
  expect((await owned.post(list)).status).toBe(404);
  expect((await owned.post(list, bare)).status).toBe(404);
});
