import { access, constants, stat, readFile } from 'node:fs/promises';
import type { ConfigFile } from './contract/gateway-config-files.ts';
import type { Problem } from './contract/problem.ts';
import { parse } from 'yaml';
import { isObject } from './contract/json.ts';
import { POLICY_MEMBER, POLICY_PATH, type Policed } from './contract/run-config/policy-file.ts';
import { decodeUtf8 } from './contract/text/utf8.ts';

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

const MAX_BYTES = 1_048_576;

/**
 * Replaces `authz_config_path` by `authz_config`: the document in the file, JSON or YAML, whose shape is not checked. A file
 * that cannot be read or parsed is a problem.
 */
export async function withPolicyFile(
  { [POLICY_PATH]: _path, ...others }: Policed,
  file: string,
): Promise<{ readonly json: object } | { readonly problems: Problem[] }> {
  const unreadable = await unreadableFiles([{ path: POLICY_PATH, file }]);
  if (unreadable.length > 0) return { problems: unreadable };
  const content = decodeUtf8(await readFile(file));
  if (content === undefined) return invalid(`${file} is not UTF-8: save it in that encoding`);
  if (content.length > MAX_BYTES) return invalid(`${file} has more than 1 MiB: split or shorten it`);
  try {
    const document: unknown = parse(content);
    // null would count as an absent member, and nothing would be authorized
    if (!isObject(document)) return invalid(`${file} holds no document with policies: write type, version and cedar`);
    return { json: { ...others, [POLICY_MEMBER]: document } };
  } catch (error) {
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split(/:?\n/u);
    return invalid(`${file} is neither JSON nor YAML: ${what}`);
  }
}

const invalid = (message: string): { problems: Problem[] } => ({
  problems: [{ reason: 'AuthzInvalid', path: POLICY_PATH, message }],
});
