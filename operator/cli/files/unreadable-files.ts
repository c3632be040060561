import { access, constants, stat } from 'node:fs/promises';
import type { ConfigFile } from '../../../gateway/contract/gateway-config-files.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';

/** Each file that is not there or cannot be read by this user. */
export async function unreadableFiles(files: readonly ConfigFile[]): Promise<Problem[]> {
  const checks = files.map(async ({ path, file }): Promise<Problem[]> => {
    const code = await readFault(file);
    if (code === undefined) return [];
    const [reason, action] =
      code === 'ENOENT' || code === 'ENOTDIR'
        ? ['FileNotFound', 'create it or correct the path']
        : ['FileNotReadable', 'name a file that this user may read'];
    return [{ reason, path, message: `${file} cannot be read (${code}): ${action}` }];
  });
  return (await Promise.all(checks)).flat();
}

/** Code of the error that reading a file would end in. */
async function readFault(file: string): Promise<string | undefined> {
  try {
    await access(file, constants.R_OK);
    return (await stat(file)).isDirectory() ? 'EISDIR' : undefined;
  } catch (error) {
    return errorCode(error);
  }
}

export const errorCode = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown error';
