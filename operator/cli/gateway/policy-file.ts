import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { isObject, parseObject } from '../../../gateway/contract/json.ts';
import { MOUNTED_FOLDERS, isBelow, notMounted, PATH_NOT_MOUNTED } from '../../../gateway/contract/mounted-files.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import { readGatewayConfig } from '../../../gateway/read-gateway-config.ts';
import { unreachableFiles } from '../files/unusable-files.ts';

const PATH = 'authz_config_path';
const MEMBER = 'authz_config';
const MAX_BYTES = 1_048_576;

type Read = { readonly config: GatewayConfig } | { readonly problems: readonly Problem[] };

const problem = (reason: string, message: string): { problems: Problem[] } => ({
  problems: [{ reason, path: PATH, message }],
});

/**
 * Reads a configuration like `readGatewayConfig`. The document in the file of `authz_config_path`, JSON or YAML, becomes
 * `authz_config`. A gateway in a pod reads the file in the mounted folders only.
 */
export async function readConfigWithPolicyFile(text: string): Promise<Read> {
  const { [PATH]: file, ...json } = parseObject(text) ?? {};
  if (typeof file !== 'string') return readGatewayConfig(text);
  if (json[MEMBER] !== undefined) {
    return problem('RuleViolated', `set ${MEMBER} or ${PATH}, not both: remove one`);
  }
  const folders = foldersOf(json['vmcp']);
  if (folders && !isBelow(file, folders)) return problem(PATH_NOT_MOUNTED, notMounted(file, folders));
  const unreachable = await unreachableFiles([{ path: PATH, file }], folders);
  if (unreachable.length > 0) return { problems: unreachable };
  const document = await readDocument(file);
  if ('problems' in document) return document;
  const read = readGatewayConfig(JSON.stringify({ ...json, [MEMBER]: document.value }));
  return 'problems' in read ? { problems: read.problems.map((each) => inFile(each, file)) } : read;
}

/** Returns the folders that a gateway in a pod may read; undefined outside of a pod. */
function foldersOf(vmcp: unknown): readonly string[] | undefined {
  const cluster = isObject(vmcp) ? vmcp['cluster'] : undefined;
  if (!isObject(cluster)) return undefined;
  const { mounted_folders: folders } = cluster;
  return Array.isArray(folders) ? folders.filter((folder) => typeof folder === 'string') : MOUNTED_FOLDERS;
}

async function readDocument(file: string): Promise<{ readonly value: unknown } | { readonly problems: Problem[] }> {
  const content = await readFile(file, 'utf8');
  if (content.length > MAX_BYTES) return problem('AuthzInvalid', `${file} has more than 1 MiB: split or shorten it`);
  try {
    return { value: parse(content) as unknown };
  } catch (error) {
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split(/:?\n/u);
    return problem('AuthzInvalid', `${file} is neither JSON nor YAML: ${what}`);
  }
}

/** Moves a problem of the document to the path that names its file. */
function inFile(each: Problem, file: string): Problem {
  if (each.path !== MEMBER && !each.path.startsWith(`${MEMBER}.`)) return each;
  const place = each.path.slice(MEMBER.length + 1);
  return { ...each, path: PATH, message: `${file}: ${place === '' ? '' : `${place}: `}${each.message}` };
}
