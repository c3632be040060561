import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NoKeyring, osKeyring, standInPassword } from './password.ts';
import { temporaryFolder } from './testdata/temporary-folder.ts';

it('reads nothing from the keyring of this machine, or reports that there is none', async () => {
  const outcome = await osKeyring(`/of-a-test/${randomUUID()}`)
    .read()
    .catch((error: unknown) => error);
  if (outcome !== undefined) {
    expect(outcome).toBeInstanceOf(NoKeyring);
    expect((outcome as NoKeyring).message).toContain('VMCP_SECRETS_PASSWORD');
  }
});

function passwordFile() {
  const path = join(temporaryFolder(), 'password');
  return { path, env: { VMCP_SECRETS_PASSWORD_FILE: path } };
}

describe('the password in the environment', () => {
  it('is absent without a variable and with empty ones', async () => {
    expect(await standInPassword({})).toBeUndefined();
    expect(await standInPassword({ VMCP_SECRETS_PASSWORD: '', VMCP_SECRETS_PASSWORD_FILE: '' })).toBeUndefined();
  });

  it('is the variable rather than the file', async () => {
    const { path, env } = passwordFile();
    writeFileSync(path, 'of the file');
    expect(await standInPassword({ ...env, VMCP_SECRETS_PASSWORD: 'of the variable' })).toBe('of the variable');
  });

  it('is the content of the file at each use, without one line break at its end', async () => {
    const { path, env } = passwordFile();
    writeFileSync(path, 'one\n');
    expect(await standInPassword(env)).toBe('one');
    writeFileSync(path, ' two \r\n');
    expect(await standInPassword(env)).toBe(' two ');
  });

  it('rejects an empty file and one that cannot be read, and names it', async () => {
    const { path, env } = passwordFile();
    writeFileSync(path, '\n');
    await expect(standInPassword(env)).rejects.toThrow(`${path} is empty`);
    await expect(standInPassword({ VMCP_SECRETS_PASSWORD_FILE: `${path}.absent` })).rejects.toThrow(
      `${path}.absent cannot be read (ENOENT)`,
    );
  });
});
