import { access, constants, stat } from 'node:fs/promises';
import type { ConfigFile } from '../contract/gateway-config-files.ts';
import type { Problem } from '../contract/problem.ts';

/** Lists the files that are missing or that this user cannot read. */
export async function unreadableFiles(files: readonly ConfigFile[]): Promise<Problem[]> {
  const checks = files.map(async ({ path, file }): Promise<Problem[]> => {
    const code = await readFault(file);
    if (code === undefined) return [];
    const [reason, action] =
      code === 'ENOENT' || code === 'ENOTDIR'
        ? ['FileNotFound', 'create it or correct the path']
        : ['FileNotReadable', 'use a file that this user can read'];
    return [{ reason, path, message: `${file} cannot be read (${code}): ${action}` }];
  });
  return (await Promise.all(checks)).flat();
}

/** Returns the error code that reading a file would cause; undefined for a readable file. */
async function readFault(file: string): Promise<string | undefined> {
  try {
    await access(file, constants.R_OK);
    return (await stat(file)).isDirectory() ? 'EISDIR' : undefined;
  } catch (error) {
    return errorCode(error);
  }
}

export const errorCode = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown error';
