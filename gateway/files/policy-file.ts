import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { isObject } from '../contract/json.ts';
import type { Problem } from '../contract/problem.ts';
import { POLICY_MEMBER, POLICY_PATH, type Policed } from '../contract/run-config/policy-file.ts';
import { unreadableFiles } from './unreadable-files.ts';
import { decodeUtf8 } from '../contract/text/utf8.ts';

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
