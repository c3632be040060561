import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { NoKeyring, type Keyring } from '../password.ts';
import { SecretsFailure } from '../secrets-failure.ts';
import { absentKeyring, fakeKeyring } from '../testdata/fakes.ts';
import { temporaryFolder } from '../testdata/temporary-folder.ts';
import { encrypted } from './encrypted.ts';
import type { SecretsProvider } from './provider.ts';

const newPath = (): string => join(temporaryFolder(), 'secrets_encrypted');

interface Setup {
  readonly path?: string;
  readonly keyring?: Keyring;
  readonly env?: Readonly<Record<string, string>>;
}

const provider = ({ path = newPath(), keyring = fakeKeyring(), env = {} }: Setup = {}): SecretsProvider =>
  encrypted.create({
    encryptedPath: path,
    log2Cost: 4,
    env,
    keyring,
    connectOnePassword: async () => Promise.reject(new Error('not used')),
  });

/** Creates a file that holds the secret `github` under a password, and returns its path. */
async function fileUnder(password: string): Promise<string> {
  const path = newPath();
  const created = provider({ path, env: { VMCP_SECRETS_PASSWORD: password } });
  await created.setUp(undefined);
  await created.set!('github', 'canary', 'absent');
  return path;
}

const under = (path: string, password: string): SecretsProvider =>
  provider({ path, env: { VMCP_SECRETS_PASSWORD: password } });

const code = (thrown: unknown): string => (thrown instanceof OperationError ? thrown.code : String(thrown));

describe('setup with the keyring', () => {
  it('generates a password of 32 bytes and stores it', async () => {
    const keyring = fakeKeyring();
    await provider({ keyring }).setUp(undefined);
    expect(keyring.password).toMatch(/^[\w-]{43}$/);
  });

  it('stores the given password after it has opened the file', async () => {
    const keyring = fakeKeyring();
    const path = await fileUnder('given');
    await provider({ path, keyring }).setUp('given');
    expect(keyring.password).toBe('given');
    expect(await provider({ path, keyring }).get('github')).toBe('canary');
  });

  it('rejects a password that does not open the file, and changes neither the file nor the keyring', async () => {
    const keyring = fakeKeyring();
    const path = await fileUnder('right');
    const before = readFileSync(path);
    await expect(provider({ path, keyring }).setUp('wrong')).rejects.toThrow(SecretsFailure);
    await expect(provider({ path, keyring }).setUp(undefined)).rejects.toThrow(`${path} cannot be decrypted`);
    expect(keyring.password).toBeUndefined();
    expect(readFileSync(path)).toEqual(before);
  });

  it('encrypts the file anew if the keyring has the present password', async () => {
    const path = await fileUnder('old');
    const keyring = fakeKeyring('old');
    await provider({ path, keyring }).setUp('new');
    expect(keyring.password).toBe('new');
    expect(await under(path, 'new').get('github')).toBe('canary');
    await expect(under(path, 'old').get('github')).rejects.toThrow(SecretsFailure);
  });

  it('keeps the password of the keyring if none is given', async () => {
    const path = await fileUnder('old');
    const keyring = fakeKeyring('old');
    await provider({ path, keyring }).setUp(undefined);
    expect(keyring.password).toBe('old');
  });

  it('is repeated with the same password after the keyring has failed to store it', async () => {
    const path = await fileUnder('old');
    const stuck: Keyring = { read: async () => 'old', store: async () => Promise.reject(new NoKeyring('locked')) };
    expect(
      code(
        await provider({ path, keyring: stuck })
          .setUp('new')
          .catch((error: unknown) => error),
      ),
    ).toBe('no_keyring');
    const keyring = fakeKeyring('old');
    await provider({ path, keyring }).setUp('new');
    expect(await provider({ path, keyring }).get('github')).toBe('canary');
  });

  it('creates no file under a password that the keyring has not stored', async () => {
    const path = newPath();
    const stuck: Keyring = { read: async () => undefined, store: async () => Promise.reject(new NoKeyring('locked')) };
    await expect(provider({ path, keyring: stuck }).setUp(undefined)).rejects.toThrow('locked');
    expect(existsSync(path)).toBe(false);
  });

  it('is rejected without a keyring and without a password in the environment', async () => {
    const error: unknown = await provider({ keyring: absentKeyring })
      .setUp('given')
      .catch((thrown: unknown) => thrown);
    expect(code(error)).toBe('no_keyring');
    expect((error as Error).message).toContain('set VMCP_SECRETS_PASSWORD_FILE');
  });
});

describe('setup with a password in the environment', () => {
  const env = { VMCP_SECRETS_PASSWORD: 'of the environment' };

  it('needs no keyring and stores nothing in one', async () => {
    await provider({ env, keyring: absentKeyring }).setUp(undefined);
    const keyring = fakeKeyring();
    await provider({ env, keyring }).setUp('of the environment');
    expect(keyring.password).toBeUndefined();
  });

  it('rejects another password in the request', async () => {
    const path = newPath();
    const error: unknown = await provider({ path, env })
      .setUp('another')
      .catch((thrown: unknown) => thrown);
    expect(code(error)).toBe('password_conflict');
    expect(existsSync(path)).toBe(false);
  });

  it('encrypts the file anew if the keyring has the present password', async () => {
    const path = await fileUnder('of the keyring');
    const moved = provider({ path, env, keyring: fakeKeyring('of the keyring') });
    await moved.setUp(undefined);
    expect(await moved.get('github')).toBe('canary');
  });

  it('fails if nothing opens the file, and leaves it as it is', async () => {
    const path = await fileUnder('forgotten');
    const before = readFileSync(path);
    for (const keyring of [absentKeyring, fakeKeyring(), fakeKeyring('wrong')]) {
      await expect(provider({ path, env, keyring }).setUp(undefined)).rejects.toThrow(SecretsFailure);
    }
    expect(readFileSync(path)).toEqual(before);
  });
});

describe('the file', () => {
  it('is private, and nothing else stays beside it', async () => {
    const path = await fileUnder('pass');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(path, '..'))).toEqual(['secrets_encrypted']);
  });

  it('becomes private again with the next write', async () => {
    const path = await fileUnder('pass');
    chmodSync(path, 0o644);
    await under(path, 'pass').set!('other', 'value', 'absent');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('has a new nonce with each write, and the salt of its password', async () => {
    const path = await fileUnder('pass');
    const [first, second] = [
      readFileSync(path),
      (await under(path, 'pass').set!('github', 'canary', 'any'), readFileSync(path)),
    ];
    expect(second.subarray(0, 29)).toEqual(first.subarray(0, 29));
    expect(second.subarray(29, 41)).not.toEqual(first.subarray(29, 41));
  });

  it('of the old layout is read, and converted by the next write only', async () => {
    const [path, nonce] = [newPath(), randomBytes(12)];
    const cipher = createCipheriv('aes-256-gcm', createHash('sha256').update('pass').digest(), nonce);
    const text = cipher.update('{"secrets":{"github":"canary"}}');
    const old = Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]);
    writeFileSync(path, old, { mode: 0o600 });
    const tested = under(path, 'pass');
    await tested.setUp(undefined);
    expect(await tested.get('github')).toBe('canary');
    expect(await tested.set!('github', 'value', 'absent')).toBe(false);
    expect(readFileSync(path)).toEqual(old);
    await tested.set!('other', 'value', 'absent');
    expect(readFileSync(path, 'latin1')).toMatch(/^VMCPSECR/);
    expect(await under(path, 'pass').get('github')).toBe('canary');
  });

  it.each([
    ['truncated', (bytes: Buffer) => bytes.subarray(0, 60)],
    ['empty', () => Buffer.alloc(0)],
    ['changed', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.of(bytes.at(-1)! ^ 1)])],
    ['longer than it can be', () => Buffer.alloc(33 * 1024 * 1024)],
  ])('that is %s is never overwritten', async (_what, damage) => {
    const path = await fileUnder('pass');
    const damaged = damage(readFileSync(path));
    writeFileSync(path, damaged);
    const tested = under(path, 'pass');
    await expect(tested.setUp(undefined)).rejects.toThrow(SecretsFailure);
    await expect(tested.get('github')).rejects.toThrow(SecretsFailure);
    await expect(tested.set!('other', 'value', 'any')).rejects.toThrow(SecretsFailure);
    await expect(tested.delete!('github')).rejects.toThrow(path);
    expect(readFileSync(path).equals(damaged)).toBe(true);
  });

  it('stays as it is when a write fails', async () => {
    const path = await fileUnder('pass');
    const before = readFileSync(path);
    mkdirSync(`${path}.draft`);
    await expect(under(path, 'pass').set!('other', 'value', 'any')).rejects.toThrow(
      `${path} cannot be changed (EISDIR)`,
    );
    expect(readFileSync(path)).toEqual(before);
    expect(await under(path, 'pass').get('github')).toBe('canary');
  });

  it('that has been deleted is reported, not created without its secrets', async () => {
    const path = await fileUnder('pass');
    rmSync(path);
    await expect(under(path, 'pass').set!('other', 'value', 'any')).rejects.toThrow(
      'is missing: restore it, or set up the provider again',
    );
    expect(existsSync(path)).toBe(false);
  });

  it('keeps the changes of several processes', async () => {
    const path = await fileUnder('pass');
    const processes = [under(path, 'pass'), under(path, 'pass'), under(path, 'pass')];
    const names = Array.from({ length: 12 }, (_, index) => `name-${String(index)}`);
    await Promise.all(names.map((name, index) => processes[index % 3]!.set!(name, 'value', 'absent')));
    expect(await under(path, 'pass').list!()).toHaveLength(names.length + 1);
  });

  it('is read while its password changes', async () => {
    const path = await fileUnder('old');
    const keyring = fakeKeyring('old');
    const slow: Keyring = {
      read: keyring.read,
      store: async (password) => {
        await new Promise((resolve) => setImmediate(resolve));
        await keyring.store(password);
      },
    };
    const changed = provider({ path, keyring: slow }).setUp('new');
    const reader = provider({ path, keyring });
    for (let isDone = false; !isDone;) {
      expect(await reader.get('github')).toBe('canary');
      isDone = await Promise.race([
        changed.then(() => true),
        new Promise<false>((resolve) => setImmediate(resolve, false)),
      ]);
    }
    expect(await reader.get('github')).toBe('canary');
  });
});
