import { describe, expect, it } from 'vitest';
import { NoReply, type Get, type Reply } from '../online/probes.ts';
import type { Running } from '../../local/state.ts';
import { StatusError } from '../status/gateway-status.ts';
import { LaunchError } from '../../../gateway/workloads/runner/runner.ts';
import { imageSubject } from '../online/provider-subjects.ts';
import type { LocalServer, Machine } from './check.ts';
import type { NamedSubject, Subject } from '../online/online-check.ts';
import { CHECKS } from './doctor.ts';

const NOW = Date.parse('2026-11-23T20:00:00Z');
const ISSUER = 'https://idp.example.com';
const KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  alg: 'EdDSA',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
};

const reply = (document: unknown, date = new Date(NOW)): Reply => ({
  status: document === undefined ? 404 : 200,
  header: (name) => (name === 'date' ? date.toUTCString() : undefined),
  body: JSON.stringify(document ?? {}),
});

/** Answers like an issuer, with this clock. */
const issuerAt =
  (date?: Date): Get =>
  async (url) => {
    if (url.endsWith('/openid-configuration')) return reply({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }, date);
    return reply(url.endsWith('/keys') ? { keys: [KEY] } : undefined, date);
  };

const unreachable: Get = async () => {
  throw new NoReply('idp.example.com cannot be reached (ENOTFOUND)');
};

const named = (path: string, subject: Subject): NamedSubject => ({
  object: { kind: 'VirtualMCPServer', namespace: 'default', name: 'desk' },
  path,
  subject,
});
const ISSUED = named('spec.issuer', { type: 'issuer', value: ISSUER, issuer: { issuer: ISSUER, jwksUrl: undefined } });

const healthy: Machine = {
  nodeVersion: '24.21.0',
  env: { LANG: 'C.UTF-8' },
  stateDir: '/state',
  running: undefined,
  providers: [ISSUED],
  servers: [],
  isInstalled: () => false,
  placeOf: ({ path }) => `a.yaml:7: ${path}`,
  find: (program) => `/usr/bin/${program}`,
  succeeds: async () => true,
  respondingEngine: async () => 'podman',
  isPortFree: async () => true,
  writeFault: async () => undefined,
  get: issuerAt(),
  serversAt: async () => [],
  now: () => NOW,
};

/** Runs the check with this name. */
const check = async (name: string, change: Partial<Machine>) =>
  CHECKS.find((each) => each.name === name)?.run({ ...healthy, ...change });

it('passes on a healthy machine', async () => {
  const findings = await Promise.all(CHECKS.map(async ({ name, run }) => [name, (await run(healthy)).state]));
  expect(findings).toEqual(CHECKS.map(({ name }) => [name, 'ok']));
});

it('names the container engine that vmcp uses', async () => {
  expect(await check('container engine', {})).toEqual({ state: 'ok', message: 'podman responds' });
});

it.each<[string, Partial<Machine>, 'warn' | 'fail', RegExp]>([
  ['Node.js', { nodeVersion: '20.11.0' }, 'fail', /install version 22.15/u],
  ['npm', { find: () => undefined }, 'warn', /install Node.js with npm/u],
  ['Python packages', { find: () => undefined }, 'warn', /install uv/u],
  [
    'Python packages',
    { find: (program) => (program === 'python3' ? '/usr/bin/python3' : undefined), succeeds: async () => false },
    'warn',
    /python3 has no venv module.*install uv/u,
  ],
  ['container engine', { respondingEngine: async () => undefined }, 'warn', /start one of them/u],
  ['port 4483', { isPortFree: async () => false }, 'warn', /--port/u],
  ['port 8080', { isPortFree: async () => false }, 'warn', /--management-port/u],
  ['state folder', { writeFault: async () => 'EACCES' }, 'fail', /\/state cannot be written \(EACCES\): .*--state/u],
  ['issuers', { get: unreachable }, 'fail', /idp.example.com cannot be reached \(ENOTFOUND\)/u],
  [
    'issuers',
    {
      providers: [named('spec.tokenUrl', { type: 'endpoint', value: 'https://idp.example.com/t' })],
      get: unreachable,
    },
    'fail',
    /a.yaml:7: spec.tokenUrl: idp.example.com .*ENOTFOUND/u,
  ],
  ['issuers', { get: async () => reply(undefined) }, 'fail', /answered 404/u],
  ['issuers', { get: async () => reply({ issuer: 'https://other' }) }, 'fail', /another issuer/u],
  ['clock', { get: issuerAt(new Date(NOW - 120_000)) }, 'fail', /^120 s from .*: set the clock/u],
  ['locale', { env: { LC_ALL: 'C', LANG: 'C.UTF-8' } }, 'warn', /^C: .*export LANG=C.UTF-8/u],
  ['locale', { env: {} }, 'warn', /none is set/u],
])('%s: explains the fix %#', async (name, change, state, message) => {
  expect(await check(name, change)).toEqual({ state, message: expect.stringMatching(message) as unknown });
});

it('says what was not checked', async () => {
  for (const name of ['issuers', 'clock'])
    expect(await check(name, { providers: [] })).toMatchObject({ state: 'ok', message: /^not checked/u });
  expect(await check('clock', { get: unreachable })).toMatchObject({ state: 'ok', message: /^not checked/u });
});

it('accepts ports of the running gateway', async () => {
  const running = {
    pid: 12,
    startTime: '1',
    managementUrl: 'http://127.0.0.1:8080',
    servers: [{ name: 'desk', namespace: 'default', mcpUrl: 'http://127.0.0.1:4483/mcp' }],
  };
  const busy = { running, isPortFree: async () => false };
  expect(await check('port 4483', busy)).toEqual({ state: 'ok', message: 'used by vmcp up (process 12)' });
  expect(await check('port 8080', busy)).toMatchObject({ state: 'ok' });
});

it('names the field of each finding with its file and line, and warns about scopes that a provider does not list', async () => {
  const documents: Get = async (url) => {
    if (url.endsWith('/openid-configuration'))
      return reply({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys`, scopes_supported: ['openid'] });
    return reply(url.endsWith('/keys') ? { keys: [KEY] } : undefined);
  };
  const scope = { type: 'scope' as const, value: 'mail', metadata: { issuer: ISSUER } };
  const registration = { type: 'registration' as const, value: ISSUER, metadata: { issuer: ISSUER } };
  const providers = [ISSUED, named('spec.scopes[0]', scope)];
  const warned = await check('issuers', { providers, get: documents });
  expect(warned).toEqual({
    state: 'warn',
    message: `a.yaml:7: spec.scopes[0]: ${ISSUER} does not list the scope "mail" (scopes_supported: openid): correct it, unless the list is incomplete`,
  });
  const failed = await check('issuers', {
    providers: [...providers, named('spec.dcrConfig', registration)],
    get: documents,
  });
  expect(failed).toMatchObject({ state: 'fail', message: /^a\.yaml:7: spec\.dcrConfig: .*no registration_endpoint/u });
});

it('names the tools that model APIs reject, as a running gateway reports them', async () => {
  const running = { pid: 1, managementUrl: 'http://127.0.0.1:8080', servers: [] } as unknown as Running;
  const problem = (reason: string, message: string) => ({ reason, message });
  const server = (...problems: ReturnType<typeof problem>[]) => ({
    ...{ name: 'a', sessions: 0, sessionList: [], backends: [] },
    problems,
  });
  const [openai, other] = [problem('ToolsNotPortable', 'OpenAI: 2 tools'), problem('ToolNameClash', 'one name')];
  const found = (...servers: ReturnType<typeof server>[]) =>
    check('tools', { running, serversAt: async () => servers });
  expect(await found(server(other))).toMatchObject({ state: 'ok' });
  expect(await found(server(openai, other), server(openai))).toEqual({
    state: 'warn',
    message: 'OpenAI: 2 tools. vmcp tools --check lists all of them',
  });
  const silent = async () => {
    throw new StatusError('nothing answers');
  };
  expect(await check('tools', { running, serversAt: silent })).toMatchObject({ state: 'ok' });
});

describe('the check of servers', () => {
  const server = (image: string): LocalServer => {
    const subject = imageSubject(image);
    return {
      object: { kind: 'MCPServer', namespace: 'default', name: 'files' },
      process: { image },
      ...(subject && { subject }),
    };
  };
  const placeOf: Machine['placeOf'] = ({ name, path }) => `a.yaml:3: MCPServer/${name}: ${path}`;
  const registry: Get = async (url) =>
    reply(/files$|\/clock\/$|\/manifests\//u.test(url) ? { 'dist-tags': { latest: '1.0.0' } } : undefined);
  const found = (images: readonly string[], change: Partial<Machine> = {}) =>
    check('servers', { servers: images.map(server), placeOf, get: registry, succeeds: async () => false, ...change });
  const ALL = ['npx://files', 'uvx://clock', 'ghcr.io/a/web:1'];

  it('says how many are on this machine, and how many their registries have', async () => {
    expect(await found(ALL)).toEqual({ state: 'ok', message: '0 on this machine, 3 at their registries' });
    const engines: (readonly string[])[] = [];
    const succeeds: Machine['succeeds'] = async (file, args) => engines.push([file, ...args]) > 0;
    expect(await found(['ghcr.io/a/web:1'], { succeeds, get: unreachable })).toEqual({
      state: 'ok',
      message: '1 on this machine',
    });
    expect(engines).toEqual([['/usr/bin/podman', 'image', 'inspect', '--', 'ghcr.io/a/web:1']]);
  });

  it('needs neither installers nor a network for servers that are installed', async () => {
    const change = { isInstalled: () => true, find: () => undefined, get: unreachable };
    expect(await found([...ALL.slice(0, 2), 'command:///usr/bin/true'], change)).toEqual({
      state: 'ok',
      message: '3 on this machine',
    });
  });

  const none: Partial<Machine> = { find: () => undefined };
  const noEngine: Partial<Machine> = { respondingEngine: async () => undefined };
  const notFound: Partial<Machine> = {
    isInstalled: () => {
      throw new LaunchError('ProgramNotFound', 'clock is not on PATH: install it');
    },
  };
  it.each<[string, Partial<Machine>, RegExp]>([
    ['npx://files', none, /: npm is not on PATH.*install Node\.js with npm$/u],
    ['uvx://clock', none, /: neither uv nor python3 is on PATH.*install uv/u],
    ['ghcr.io/a/web:1', noEngine, /: neither docker nor podman responds.*start one of them$/u],
    ['command://clock', notFound, /: clock is not on PATH: install it$/u],
    [
      'npx://files',
      { get: unreachable },
      /: idp\.example\.com cannot be reached \(ENOTFOUND\): the package "files" was not/u,
    ],
    ['npx://missing', {}, /: npm has no package "missing": correct its name$/u],
    ['npx://files@2', {}, /: npm has no version 2 of "files": the latest is 1\.0\.0$/u],
  ])('fails for %s, and names the field and what to do: %o', async (image, change, message) => {
    const finding = await found([image], change);
    expect(finding).toEqual({ state: 'fail', message: expect.stringMatching(message) as unknown });
    expect(finding?.message).toMatch(/^a\.yaml:3: MCPServer\/files: spec\.image: /u);
  });

  it('warns about an image that its registry hides', async () => {
    const hidden = await found(['ghcr.io/a/web:1'], { get: async () => ({ ...reply({}), status: 403 }) });
    expect(hidden).toMatchObject({ state: 'warn', message: /ghcr\.io answered 403/u });
  });

  it('names three findings at most', async () => {
    const { message = '' } = (await found(['npx://a', 'npx://b', 'npx://c', 'npx://d', 'npx://e'])) ?? {};
    expect(message.match(/npm has no package/gu)).toHaveLength(3);
    expect(message).toMatch(/; and 2 more: vmcp validate --online lists all$/u);
  });
});
