import { readFile } from 'node:fs/promises';
import type { Environment } from '../environment-secrets.ts';
import { SecretsFailure } from '../secrets-failure.ts';

/**
 * Returns the password that the environment gives in place of a keyring. Reads its file at each call.
 * @throws SecretsFailure for a file that has no password
 */
export async function standInPassword(env: Environment): Promise<string | undefined> {
  const { VMCP_SECRETS_PASSWORD: password, VMCP_SECRETS_PASSWORD_FILE: path } = env;
  if (password) return password;
  if (!path) return undefined;
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new SecretsFailure(
      'settings',
      `VMCP_SECRETS_PASSWORD_FILE: ${path} cannot be read (${code}): correct the path`,
    );
  });
  const content = text.replace(/\r?\n$/u, '');
  if (content === '')
    throw new SecretsFailure('settings', `VMCP_SECRETS_PASSWORD_FILE: ${path} is empty: write the password to it`);
  return content;
}
