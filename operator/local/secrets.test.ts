import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pruneSecrets, secretPath, writeSecrets, type SecretValue } from './secrets.ts';

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
