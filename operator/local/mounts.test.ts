import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Mount } from '../resolve/scope.ts';
import { secretValues, valueKey } from '../source/files/file-values.ts';
import { pruneMounts, writeMounts } from './mounts.ts';

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'vmcp-mounts-'));
});
afterEach(() => rm(state, { recursive: true, force: true }));

const mount = (kind: Mount['kind'], key: string): Mount => {
  const folder = kind === 'Secret' ? 'secrets' : 'configmaps';
  return { kind, namespace: 'default', name: 'idp', key, path: join(state, folder, 'default/idp', key) };
};
const bundle = (): Mount => mount('ConfigMap', 'ca.crt');
const secret = (): Mount => mount('Secret', 'client-secret');
const valuesOf = (...entries: readonly (readonly [Mount, string])[]) =>
  secretValues(new Map(entries.map(([each, text]) => [valueKey(each), Buffer.from(text)])), undefined);

describe('writeMounts', () => {
  it('writes secrets and bundles to the configured paths, readable only by this user', async () => {
    await writeMounts([secret(), bundle()], valuesOf([secret(), 'one'], [bundle(), 'PEM']), state);
    expect(await readFile(secret().path, 'utf8')).toBe('one');
    expect(await readFile(bundle().path, 'utf8')).toBe('PEM');
    for (const { path } of [secret(), bundle()]) expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('writes host variables beside Secrets, readable only by this user', async () => {
    const path = join(state, 'secrets/default/idp_env/TOKEN');
    const variable: Mount = { kind: 'HostVariable', namespace: 'default', name: 'idp', key: 'TOKEN', path };
    await writeMounts([variable], valuesOf([variable, 'one']), state);
    expect([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777]).toEqual(['one', 0o600]);
    await pruneMounts([variable], state);
    expect(await readFile(path, 'utf8')).toBe('one');
    await pruneMounts([], state);
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  it('replaces changed files as a whole and keeps unchanged ones', async () => {
    await writeMounts([secret(), bundle()], valuesOf([secret(), 'one'], [bundle(), 'PEM']), state);
    const before = await Promise.all([secret(), bundle()].map(async ({ path }) => (await stat(path)).ino));
    await writeMounts([secret(), bundle()], valuesOf([secret(), 'one'], [bundle(), 'PEM 2']), state);
    const after = await Promise.all([secret(), bundle()].map(async ({ path }) => (await stat(path)).ino));
    expect(await readFile(bundle().path, 'utf8')).toBe('PEM 2');
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]); // a new file took the name, so no reader saw a part of it
  });

  it('fails without printing a value when a key is missing', async () => {
    const lost = writeMounts([bundle(), secret()], valuesOf([bundle(), 'canary']), state);
    await expect(lost).rejects.toThrow('Secret default/idp lost its key "client-secret"');
    await expect(lost).rejects.not.toThrow('canary');
  });
});

describe('pruneMounts', () => {
  it('removes secrets that no configuration names', async () => {
    await writeMounts([secret()], valuesOf([secret(), 'one']), state);
    await pruneMounts([], state);
    await expect(stat(secret().path)).rejects.toThrow('ENOENT');
  });
});
