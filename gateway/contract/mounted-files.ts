import { configFiles } from './gateway-config-files.ts';
import type { GatewayConfig } from './gateway-config.ts';
import type { Problem } from './problem.ts';

/** Folders of a pod that hold keys of Secrets and ConfigMaps, each at `<object>/<key>`. */
export const MOUNTED_SECRETS = '/etc/vmcp/secrets';
export const MOUNTED_CONFIG_MAPS = '/etc/vmcp/configmaps';

/** Folders of a pod that a configuration may name files in. The last is for volumes of `podTemplateSpec`. */
export const MOUNTED_FOLDERS: readonly string[] = [MOUNTED_SECRETS, MOUNTED_CONFIG_MAPS, '/etc/vmcp/tokens'];

/** Reason of a path outside of these folders. */
export const PATH_NOT_MOUNTED = 'PathNotMounted';

/** Returns true for a plain path below one of the folders: no `..`, nothing that a file system would read otherwise. */
export const isBelow = (file: string, folders: readonly string[]): boolean =>
  folders.some((folder) => file.startsWith(`${folder}/`)) &&
  file
    .split('/')
    .slice(1)
    .every((part) => part !== '' && part !== '.' && part !== '..');

export const foldersOf = ({ vmcp }: GatewayConfig): readonly string[] =>
  vmcp.cluster?.mounted_folders ?? MOUNTED_FOLDERS;

export const notMounted = (file: string, folders: readonly string[]): string =>
  `${file} is not in ${folders.join(', ')}: a gateway in a pod reads no other files`;

/** Lists configured files outside of the mounted folders of a pod. */
export function mountProblems(config: GatewayConfig): Problem[] {
  if (!config.vmcp.cluster) return [];
  const folders = foldersOf(config);
  return configFiles(config)
    .filter(({ file }) => !isBelow(file, folders))
    .map(({ path, file }) => ({ reason: PATH_NOT_MOUNTED, path, message: notMounted(file, folders) }));
}

/** Backends of a document that pods follow: they are called at an address, so that the document starts nothing. */
export const startedBackends = ({ vmcp }: GatewayConfig): Problem[] =>
  vmcp.backends.flatMap(({ process, attach }, index) =>
    (['process', 'attach'] as const)
      .filter((member) => ({ process, attach })[member] !== undefined)
      .map((member) => ({
        reason: 'RuleViolated',
        path: `vmcp.backends[${String(index)}].${member}`,
        message: 'a gateway in a pod starts no servers and attaches to none: give the backend a url',
      })),
  );
