import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pruneSecrets, secretPath, writeSecrets, type SecretValue, pruneMounts, writeMounts } from './secrets.ts';
import type { Mount } from '../resolve/scope.ts';
import { secretValues, valueKey } from '../source/files/host-variables.ts';

describe('secrets', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'vmcp-secrets-'));
  });
  afterEach(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  const token: SecretValue = { namespace: 'default', secret: 'github', key: 'token', value: 's3cret\n' };
  const other: SecretValue = { ...token, secret: 'jira', key: '.dockerconfigjson', value: '' };
  const mode = (path: string) => statSync(path).mode & 0o777;

  describe('writeSecrets', () => {
    it('writes each value exactly, for the owner only', async () => {
      await writeSecrets(dir, [token, other]);
      const path = secretPath(dir, token);
      expect(readFileSync(path, 'utf8')).toBe('s3cret\n');
      expect(readFileSync(secretPath(dir, other), 'utf8')).toBe('');
      const folders = [dirname(path), dirname(dirname(path)), join(dir, 'secrets')];
      expect([path, ...folders].map(mode)).toEqual([0o600, 0o700, 0o700, 0o700]);
    });

    it('restricts files and folders that others could read', async () => {
      mkdirSync(dirname(secretPath(dir, token)), { recursive: true });
      await writeSecrets(dir, [token]);
      chmodSync(secretPath(dir, token), 0o644);
      await writeSecrets(dir, [token]);
      expect([mode(secretPath(dir, token)), mode(join(dir, 'secrets', 'default'))]).toEqual([0o600, 0o700]);
    });

    it('replaces a changed value by a new file and does not touch an unchanged one', async () => {
      await writeSecrets(dir, [token, other]);
      const before = [token, other].map((one) => statSync(secretPath(dir, one)).ino);
      await writeSecrets(dir, [{ ...token, value: 'new' }, other]);
      const after = [token, other].map((one) => statSync(secretPath(dir, one)).ino);
      expect(readFileSync(secretPath(dir, token), 'utf8')).toBe('new');
      expect([after[0] === before[0], after[1] === before[1]]).toEqual([false, true]);
      expect(readdirSync(dirname(secretPath(dir, token)))).toEqual(['token']);
    });

    it.each([
      { secret: '..' },
      { key: '../../../x' },
      { namespace: 'a/b' },
      { key: '' },
      { key: '.' },
      { secret: 'a\0b' },
    ])('rejects the name in %j, which would leave the folder', async (more) => {
      await expect(writeSecrets(dir, [{ ...token, ...more }])).rejects.toThrow('not a valid name');
      expect(existsSync(join(dir, 'secrets'))).toBe(false);
    });
  });

  describe('pruneSecrets', () => {
    it('removes unreferenced secrets and empty folders', async () => {
      await writeSecrets(dir, [token, { ...token, key: 'old' }, other, { ...other, namespace: 'gone' }]);
      await pruneSecrets(dir, [token]);
      const left = readdirSync(join(dir, 'secrets'), { recursive: true }).map(String).sort();
      expect(left).toEqual(['default', 'default/github', 'default/github/token']);
      await pruneSecrets(dir, []);
      expect(readdirSync(join(dir, 'secrets'))).toEqual([]);
    });

    it('does nothing before the first secret', async () => {
      await pruneSecrets(dir, []);
      expect(existsSync(join(dir, 'secrets'))).toBe(false);
    });
  });
});

describe('mounts', () => {
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
});
