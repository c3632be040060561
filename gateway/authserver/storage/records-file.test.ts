import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { memory } from './memory.ts';
import { createSealer } from './sealing.ts';
import type { Store } from './store.ts';
import { attempt, client, codeGrant, family, HOUR_MS, SPANS, unique, upstreamRow } from './testdata/samples.ts';

const START = 1_700_000_000_000;
const SECRET = new Uint8Array(32).map((_, index) => index);
const OTHER = new Uint8Array(32).map((_, index) => index + 100);

let file = '';
let now = START;
let logged: string[] = [];

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-records-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  file = join(folder, 'auth-servers', 'default%2Ftools', 'records');
  now = START;
  logged = [];
});

interface Opened {
  readonly at?: string;
  readonly secrets?: readonly Uint8Array[];
  readonly keyPrefix?: string;
  readonly providers?: Readonly<Record<string, string>>;
}

/** Opens the store as the next process does. */
function open({
  at = file,
  secrets = [SECRET],
  keyPrefix = 'vmcp:auth:{default:tools}:',
  providers = {},
}: Opened = {}) {
  const line = (message: string, facts?: object): void => void logged.push(`${message} ${JSON.stringify(facts)}`);
  return memory.create(
    {},
    {
      now: () => now,
      log: { warn: line, info: line },
      env: () => undefined,
      secrets: () => secrets,
      keyPrefix,
      records: { file: at, providers: () => providers },
    },
  );
}

/** Writes a record of every kind, and returns functions that look for them. */
async function fill(store: Store, provider = 'corp') {
  const user = await store.users.resolve({ id: unique(), provider, subject: 'ann', createdAt: now });
  const login = { userId: user.id, authTime: now };
  const of = family(now, { login });
  const [token, code, tsid] = [unique(), unique(), unique()];
  const used = client({ client_id: unique() });
  const unused = client({ client_id: unique() });
  await store.families.create(of, token, SPANS);
  await store.codes.put(code, codeGrant({ login }), HOUR_MS);
  for (const one of [used, unused]) await store.clients.register(one, HOUR_MS, 0);
  await store.clients.renew(used.client_id, 2 * HOUR_MS);
  const row = upstreamRow({ tsid, provider, userId: user.id, accessToken: 'secret-access', storedAt: now });
  await store.upstreamTokens.put(row, HOUR_MS);
  await store.registrations.put('key', '{"client_id":"v"}');
  return async (other: Store) => ({
    user: (await other.users.resolve({ ...user, id: 'new' })).id === user.id,
    family: (await other.families.find(token))?.family.id === of.id,
    live: (await other.live.get(of.tsid)) !== undefined,
    code: (await other.codes.take(code, HOUR_MS)).kind === 'taken',
    used: (await other.clients.get(used.client_id)) !== undefined,
    unused: (await other.clients.get(unused.client_id)) !== undefined,
    row: (await other.upstreamTokens.latestForUser(user.id, provider))?.accessToken === 'secret-access',
    registration: (await other.registrations.get('key')) !== undefined,
  });
}

const ALL = {
  user: true,
  family: true,
  live: true,
  code: true,
  used: true,
  unused: true,
  row: true,
  registration: true,
};
const none = Object.fromEntries(Object.keys(ALL).map((name) => [name, false]));

it('returns every record to the next process, without a word about a loss', async () => {
  const found = await fill(await open());
  expect(await found(await open())).toEqual(ALL);
  expect(logged).toEqual([]);
});

it('keeps expiries: what ends while no process runs is gone', async () => {
  const found = await fill(await open());
  now += 1.5 * HOUR_MS;
  expect(await found(await open())).toMatchObject({ used: true, unused: false, row: false, code: false });
});

it('writes a private file that shows no token', async () => {
  await fill(await open());
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
  expect(readFileSync(file, 'utf8')).not.toContain('secret-access');
});

it.each([
  ['is empty', () => ''],
  ['is cut off', (text: string) => text.slice(0, text.length / 2)],
  ['is no record', () => '{"version":1}'],
  ['has a changed byte', (text: string) => `${text.slice(0, -3)}AAA`],
])('starts without records when the file %s, and saves again', async (_, change) => {
  const found = await fill(await open());
  writeFileSync(file, change(readFileSync(file, 'utf8')));
  const store = await open();
  expect(await found(store)).toEqual({ ...none, user: false });
  expect(logged.join()).toContain('cannot be read');
  const again = await fill(store);
  expect(await again(await open())).toEqual(ALL);
});

it.each([
  ['another version', { version: 2, providers: {}, records: {} }],
  ['records without tables', { version: 1, providers: {}, records: {} }],
  ['no records', { version: 1 }],
  [
    'tables of another form',
    { version: 1, providers: { corp: 'x' }, records: { users: [1], codes: {}, families: 'x' } },
  ],
])('starts without records when another release has written %s', async (_, content) => {
  const found = await fill(await open());
  const key = 'vmcp:auth:{default:tools}:records';
  writeFileSync(file, createSealer(() => [SECRET]).seal(key, JSON.stringify(content)));
  const store = await open({ providers: { corp: 'y' } });
  expect(await found(store)).toEqual(none);
  expect(logged.join()).toContain('another release');
  expect(await (await fill(store))(await open({ providers: { corp: 'y' } }))).toEqual(ALL);
});

it('does not open the file of another virtual server or of another key', async () => {
  const found = await fill(await open());
  expect(await found(await open({ keyPrefix: 'vmcp:auth:{default:other}:', at: file }))).toEqual(none);
});

it('opens a file that an older secret has sealed, and seals with the first one', async () => {
  const found = await fill(await open());
  const rotated = await open({ secrets: [OTHER, SECRET] });
  await rotated.registrations.put('more', '{}');
  expect(await found(await open({ secrets: [OTHER] }))).toEqual(ALL);
});

it('drops the users of a provider that has become another one, and keeps clients', async () => {
  const found = await fill(await open({ providers: { corp: 'https://one.example' } }));
  const later = await open({ providers: { corp: 'https://two.example' } });
  expect(await found(later)).toEqual({ ...none, used: true, unused: true, registration: true });
});

it('remembers which provider it was while the provider is not configured', async () => {
  const found = await fill(await open({ providers: { corp: 'https://one.example' } }));
  const between = await open({ providers: { chat: 'https://chat.example' } });
  await between.registrations.put('more', '{}');
  const later = await open({ providers: { corp: 'https://two.example' } });
  expect(await found(later)).toMatchObject({ user: false, family: false, row: false, used: true });
});

it('does not save login attempts, which begin again', async () => {
  const store = await open();
  const handle = unique();
  await store.loginAttempts.put(handle, attempt(), HOUR_MS);
  await store.registrations.put('key', '{}');
  expect(await (await open()).loginAttempts.get(handle)).toBeUndefined();
});

it('does not bring back a login that has been revoked', async () => {
  const store = await open();
  const [one, token] = [family(now), unique()];
  await store.families.create(one, token, SPANS);
  await store.families.revoke(one, HOUR_MS);
  const later = await open();
  expect([await later.families.find(token), await later.live.get(one.tsid)]).toEqual([undefined, undefined]);
});

it('writes many changes at once with few writes, and loses none', async () => {
  const store = await open();
  const ids = Array.from({ length: 200 }, unique);
  await Promise.all(ids.map((id) => store.clients.register(client({ client_id: id }), HOUR_MS, 0)));
  const later = await open();
  expect(await later.clients.count()).toBe(200);
});

it('saves the newest unused clients of a flood, and all that are in use', async () => {
  const store = await open();
  const used = client({ client_id: unique() });
  await store.clients.register(used, HOUR_MS, 0);
  await store.clients.renew(used.client_id, HOUR_MS);
  const big = client().metadata;
  const ids = Array.from({ length: 60 }, unique);
  await Promise.all(
    ids.map((id) =>
      store.clients.register(client({ client_id: id, metadata: { ...big, scope: 'x'.repeat(50_000) } }), HOUR_MS, 0),
    ),
  );
  const later = await open();
  const kept = await Promise.all([used.client_id, ids[0] ?? '', ids.at(-1) ?? ''].map((id) => later.clients.get(id)));
  expect(kept.map((one) => one !== undefined)).toEqual([true, false, true]);
  expect(statSync(file).size).toBeLessThan(3 * 1024 * 1024);
});

it('continues in memory while the file cannot be written, and says so once', async () => {
  writeFileSync(join(file, '..', '..', '..', 'blocker'), '');
  const at = join(file, '..', '..', '..', 'blocker', 'records');
  const store = await open({ at });
  const found = await fill(store);
  expect(await found(store)).toEqual(ALL);
  expect(logged.filter((line) => line.includes('cannot be saved'))).toHaveLength(1);
});
