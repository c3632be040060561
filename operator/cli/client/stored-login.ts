import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { isObject } from '../../../gateway/contract/json.ts';
import { writePrivateFile } from '../../local/secrets.ts';
import { makePrivateDir } from '../../local/state.ts';

/** Registration and tokens of this client at one MCP server. */
export interface Login {
  /** Port of the registered redirect URI. */
  readonly port?: number;
  readonly client?: OAuthClientInformationMixed;
  readonly tokens?: OAuthTokens;
}

/** File of a login. Its name is a digest, because a URL can contain a key. */
const fileOf = (stateDir: string, url: string): string =>
  join(stateDir, 'logins', `${createHash('sha256').update(url).digest('hex').slice(0, 32)}.json`);

/** Reads the login at a server. An absent or unreadable file is no login. */
export async function readLogin(stateDir: string, url: string): Promise<Login> {
  try {
    const login: unknown = JSON.parse(await readFile(fileOf(stateDir, url), 'utf8'));
    return isObject(login) ? login : {};
  } catch {
    return {};
  }
}

/** Writes the login with mode 0600 in a folder of mode 0700. */
export async function writeLogin(stateDir: string, url: string, login: Login): Promise<void> {
  makePrivateDir(stateDir);
  makePrivateDir(join(stateDir, 'logins'));
  await writePrivateFile(fileOf(stateDir, url), `${JSON.stringify(login)}\n`);
}
