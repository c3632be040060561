import { readFile, realpath } from 'node:fs/promises';
import {
  configFiles,
  isClientKey,
  type ConfigFile,
  foldersOf,
  isBelow,
  notMounted,
  PATH_NOT_MOUNTED,
} from '../../../gateway/contract/gateway-config-files.ts';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import { unreadableFiles } from '../../../gateway/config-files.ts';
import { unusableContents, type Held, type Role } from './unusable-contents.ts';

const PATH = 'embedded_auth_server_config.';

/** Lists the files of a configuration that are unreadable, or unusable for the embedded authorization server or for signatures. */
export async function unusableFiles(config: GatewayConfig): Promise<Problem[]> {
  const files = configFiles(config);
  const unreachable = await unreachableFiles(files, config.vmcp.cluster && foldersOf(config));
  if (unreachable.length > 0) return unreachable;
  const checked = files.filter(({ path }) => path.startsWith(PATH) || isClientKey(path));
  const held = await Promise.all(checked.map(contentOf));
  return unusableContents(held).map(({ item: { path, file }, reason, message }) => ({
    path,
    reason,
    message: `${file}: ${message}`,
  }));
}

/** Lists files that are unreadable, else those that are links out of `folders`, which are undefined outside of a pod. */
export async function unreachableFiles(
  files: readonly ConfigFile[],
  folders: readonly string[] | undefined,
): Promise<Problem[]> {
  const unreadable = await unreadableFiles(files);
  return unreadable.length > 0 || !folders ? unreadable : escapedFiles(files, folders);
}

/** Lists files that are links out of the mounted folders. Kubernetes' own links stay inside. */
async function escapedFiles(files: readonly ConfigFile[], folders: readonly string[]): Promise<Problem[]> {
  const roots = await Promise.all(folders.map((folder) => realpath(folder).catch(() => folder)));
  const checked = files.map(async ({ path, file }) => {
    if (isBelow(await realpath(file), roots)) return [];
    return [{ reason: PATH_NOT_MOUNTED, path, message: notMounted(file, folders) }];
  });
  return (await Promise.all(checked)).flat();
}

const contentOf = async (named: ConfigFile): Promise<ConfigFile & Held> => ({
  ...named,
  role: roleOf(named.path),
  content: await readFile(named.file, 'latin1'),
});

function roleOf(path: string): Role {
  if (isClientKey(path)) return 'client key';
  if (path.startsWith(`${PATH}signing_key_config.`)) return 'signing key';
  if (path.startsWith(`${PATH}hmac_secret_files[`)) return 'HMAC secret';
  if (path.startsWith(`${PATH}delegate_clients[`)) return 'client secret';
  return /\.ca_(?:cert_)?file$/u.test(path) ? 'CA bundle' : 'credential';
}
