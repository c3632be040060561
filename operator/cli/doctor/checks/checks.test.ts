import { expect, it } from 'vitest';
import { NoReply, type Get, type Reply } from '../../probes/http-get.ts';
import type { Running } from '../../../local/running.ts';
import { NoStatus } from '../../status/management.ts';
import type { Machine } from '../check.ts';
import type { NamedSubject, Subject } from '../../online/online-check.ts';
import { CHECKS } from './index.ts';

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
    throw new NoStatus('nothing answers');
  };
  expect(await check('tools', { running, serversAt: silent })).toMatchObject({ state: 'ok' });
});
