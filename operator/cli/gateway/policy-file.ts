import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { isObject, parseObject, textsIn } from '../../../gateway/contract/json.ts';
import {
  MOUNTED_FOLDERS,
  isBelow,
  notMounted,
  PATH_NOT_MOUNTED,
} from '../../../gateway/contract/gateway-config-files.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import { inPolicyFile, POLICY_PATH, policyFileConflicts } from '../../../gateway/contract/run-config/policy-file.ts';
import { withPolicyFile } from '../../../gateway/config-files.ts';
import { readGatewayConfig } from '../../../gateway/read-gateway-config.ts';
import { unreachableFiles } from '../files/unusable-files.ts';

type Read = { readonly config: GatewayConfig } | { readonly problems: readonly Problem[] };

/**
 * Reads a configuration like `readGatewayConfig`. The document in the file of `authz_config_path`, JSON or YAML, becomes
 * `authz_config`. A gateway in a pod reads the file in the mounted folders only.
 */
export async function readConfigWithPolicyFile(text: string): Promise<Read> {
  const json = parseObject(text) ?? {};
  const file = json[POLICY_PATH];
  if (typeof file !== 'string') return readGatewayConfig(text);
  const conflicts = policyFileConflicts(json);
  if (conflicts.length > 0) return { problems: conflicts };
  const folders = foldersOf(json['vmcp']);
  if (folders) {
    if (!isBelow(file, folders))
      return { problems: [{ reason: PATH_NOT_MOUNTED, path: POLICY_PATH, message: notMounted(file, folders) }] };
    const unreachable = await unreachableFiles([{ path: POLICY_PATH, file }], folders);
    if (unreachable.length > 0) return { problems: unreachable };
  }
  const whole = await withPolicyFile(json, file);
  if ('problems' in whole) return whole;
  const read = readGatewayConfig(JSON.stringify(whole.json));
  return 'problems' in read ? { problems: read.problems.map((each) => inPolicyFile(each, file)) } : read;
}

/** Returns the folders that a gateway in a pod may read; undefined outside of a pod. */
function foldersOf(vmcp: unknown): readonly string[] | undefined {
  const cluster = isObject(vmcp) ? vmcp['cluster'] : undefined;
  if (!isObject(cluster)) return undefined;
  const { mounted_folders: folders } = cluster;
  return textsIn(folders) ?? MOUNTED_FOLDERS;
}
