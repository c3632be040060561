import { createServer } from 'node:http';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ManagementApiOptions } from './management-api.ts';
import { startManagementServer, type Answer, type ManagementServer } from './testdata/management-server.ts';
import { absentKeyring, fakeKeyring, fakeOnePassword } from './secrets/testdata/fakes.ts';

type Api = Omit<ManagementServer, 'send'> & {
  readonly send: (method: string, path: string, body?: unknown) => Promise<Answer>;
};
/** Brings about the conditions of an error and returns the answer. */
type Scenario = (api: Api) => Promise<Answer>;

const KEYS = '/secrets/default/keys';
const SKILLS = '/registry/default/v0.1/x/dev.vmcp/skills';

/** The file is damaged, for example by a full disk. */
const damaged =
  (file: string, method: string, path: string, body?: unknown): Scenario =>
  ({ stateDir, send }) => {
    writeFileSync(join(stateDir, file), '{"skills": [');
    return send(method, path, body);
  };

const sent =
  (method: string, path: string, body?: unknown): Scenario =>
  ({ send }) =>
    send(method, path, body);

/** Sends a request after another one. */
const after =
  (setUp: Scenario, scenario: Scenario): Scenario =>
  async (api) => {
    expect((await setUp(api)).status).toBeLessThan(300);
    return scenario(api);
  };

const encrypted = sent('POST', '/secrets', { provider_type: 'encrypted', password: 'correct' });
const secret = after(encrypted, sent('POST', KEYS, { key: 'a', value: 'b' }));

/** The file of secrets cannot be written: a folder is in its place. */
const unwritable =
  (method: string, path: string, body: unknown): Scenario =>
  async (api) => {
    await secret(api);
    rmSync(join(api.stateDir, 'secrets_encrypted'));
    mkdirSync(join(api.stateDir, 'secrets_encrypted', 'in-the-way'), { recursive: true });
    return api.send(method, path, body);
  };

/** The registry stops after it was configured. */
const stoppedRegistry =
  (path: string): Scenario =>
  async ({ send }) => {
    const { url, close } = await startDocument('{"servers": [], "metadata": {"count": 0}}');
    await send('PUT', '/registry/default', { api_url: url, allow_private_ip: true });
    await close();
    return send('GET', path);
  };

async function startDocument(text: string): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((_, res) => res.setHeader('content-type', 'application/json').end(text));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, close };
}

/** A folder that its user may not read. */
const unreadable: Scenario = async ({ stateDir, send }) => {
  const folder = mkdtempSync(join(stateDir, 'pdf-'));
  writeFileSync(join(folder, 'SKILL.md'), '---\nname: pdf\n---\n');
  chmodSync(stateDir, 0o755);
  chmodSync(folder, 0o755);
  chmodSync(join(folder, 'SKILL.md'), 0o000);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.('nobody'); // root may read every file
  try {
    return await send('POST', '/skills/validate', { path: folder });
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
};

const folderInTheWay: Scenario = async ({ home, send }) => {
  const repository = { namespace: 'io.github.a', name: 'pdf', description: 'A skill.', version: '1.0.0' };
  const meta = { last_updated: '2026-01-01T00:00:00Z' };
  const skills = ['io.github.a', 'io.github.b'].map((namespace) => ({ ...repository, namespace }));
  const local_path = join(home, 'two-skills.json');
  writeFileSync(local_path, JSON.stringify({ version: '1.0.0', meta, data: { servers: [], skills } }));
  await send('PUT', '/registry/default', { local_path });
  return send('POST', '/skills', { name: 'pdf', clients: ['cursor'] });
};

/** Statuses by operation, each with a condition that causes it. */
const SCENARIOS: Readonly<Record<string, Readonly<Record<number, Scenario>>>> = {
  'register a client': { 400: sent('POST', '/clients', { name: 'notepad' }) },
  'register several clients': { 400: sent('POST', '/clients/register', { names: [] }) },
  'get a registry': { 404: sent('GET', '/registry/other') },
  'get a server': { 404: sent('GET', '/registry/default/servers/none') },
  'list servers': { 404: sent('GET', '/registry/other/servers') },
  'update a registry': {
    400: sent('PUT', '/registry/default', { url: 'https://example.com/a.json', local_path: '/a' }),
    403: sent('PUT', '/registry/default', {}),
    404: sent('PUT', '/registry/other', 'no JSON'),
    502: async ({ send }) => {
      const { url } = await startDocument('no registry');
      return send('PUT', '/registry/default', { url: `${url}/registry.json`, allow_private_ip: true });
    },
    504: sent('PUT', '/registry/default', { url: 'http://127.0.0.1:9/registry.json', allow_private_ip: true }),
  },
  'get a registry skill': {
    404: sent('GET', `${SKILLS}/com.example/none`),
    500: damaged('registry.json', 'GET', `${SKILLS}/com.example/none`),
    503: stoppedRegistry(`${SKILLS}/com.example/none`),
  },
  'list registry skills': {
    500: damaged('registry.json', 'GET', SKILLS),
    503: stoppedRegistry(SKILLS),
  },
  'create a secret': {
    400: after(encrypted, sent('POST', KEYS, { key: 'a', value: '' })),
    404: sent('POST', KEYS, { key: 'a', value: 'b' }),
    405: after(
      sent('POST', '/secrets', { provider_type: 'environment' }),
      sent('POST', KEYS, { key: 'a', value: 'b' }),
    ),
    409: after(secret, sent('POST', KEYS, { key: 'a', value: 'c' })),
    500: unwritable('POST', KEYS, { key: 'c', value: 'd' }),
  },
  'set up secrets': {
    400: sent('POST', '/secrets', { provider_type: 'paper' }),
    500: after(secret, async ({ stateDir, send }) => {
      writeFileSync(join(stateDir, 'secrets_encrypted'), 'damaged');
      return send('POST', '/secrets', { provider_type: 'encrypted', password: 'correct' });
    }),
  },
  'update a secret': {
    400: after(secret, sent('PUT', `${KEYS}/`, { value: 'b' })),
    404: after(secret, sent('PUT', `${KEYS}/none`, { value: 'b' })),
    405: after(sent('POST', '/secrets', { provider_type: 'environment' }), sent('PUT', `${KEYS}/a`, { value: 'b' })),
    500: unwritable('PUT', `${KEYS}/a`, { value: 'b' }),
  },
  'get a skill': {
    400: sent('GET', '/skills/Not%20A%20Name'),
    404: sent('GET', '/skills/none'),
    500: damaged('skills.json', 'GET', '/skills/none'),
  },
  'install a skill': {
    400: sent('POST', '/skills', { name: 'Not A Name' }),
    409: folderInTheWay,
    500: damaged('groups.json', 'POST', '/skills', { name: 'pdf', clients: ['cursor'] }),
  },
  'list skills': { 500: damaged('skills.json', 'GET', '/skills') },
  'uninstall a skill': {
    400: sent('DELETE', '/skills/Not%20A%20Name'),
    404: sent('DELETE', '/skills/none'),
    500: damaged('skills.json', 'DELETE', '/skills/none'),
  },
  'validate a skill': {
    400: sent('POST', '/skills/validate', { path: 'relative' }),
    500: unreadable,
  },
};

async function start(options: Partial<ManagementApiOptions>): Promise<Api> {
  const secrets = { env: {}, keyring: fakeKeyring(), connectOnePassword: fakeOnePassword({}), log2Cost: 4 };
  const server = await startManagementServer({ secrets, ...options });
  const send: Api['send'] = (method, path, body) =>
    server.send(method, path.startsWith('/registry/default/v0.1') ? path : `/api/v1beta${path}`, body);
  return { ...server, send };
}

const cases = Object.entries(SCENARIOS).flatMap(([operation, scenarios]) =>
  Object.entries(scenarios).map(([status, scenario]) => [operation, Number(status), scenario] as const),
);

describe('errors of operations', () => {
  it.each(cases)('%s: %i', async (_, status, scenario) => {
    const isReadOnly = status === 403;
    const api = await start({ registry: { isReadOnly, loginPorts: [0] } });
    const answer = await scenario(api);
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(/\S/u)]);
    expect(answer.text).not.toMatch(/correct|^\s+at /mu); // no password, no stack
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('set up secrets: 400 without a keyring and a password', async () => {
    const secrets = { env: {}, keyring: absentKeyring, connectOnePassword: fakeOnePassword({}) };
    const { send } = await start({ secrets });
    expect((await send('POST', '/secrets', { provider_type: 'encrypted' })).status).toBe(400);
  });
});
