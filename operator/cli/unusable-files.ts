import { readFile, realpath } from 'node:fs/promises';
import { configFiles, isClientKey, type ConfigFile } from '../../gateway/contract/gateway-config-files.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { foldersOf, isBelow, notMounted, PATH_NOT_MOUNTED } from '../../gateway/contract/gateway-config-files.ts';
import type { Problem } from '../../gateway/contract/problem.ts';
import { unreadableFiles } from '../../gateway/config-files.ts';
import { readClientKey, KeyRefused } from '../../gateway/private-keys/private-key.ts';
import { readClientSecret, readHmacSecret } from '../../gateway/authserver/keys/secrets.ts';
import { readSigningKey } from '../../gateway/authserver/keys/signing-keys.ts';
import { bundleFault } from '../resolve/config-maps.ts';

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

/** Use of a file or of a Secret's key. */
export type Role = 'signing key' | 'HMAC secret' | 'client secret' | 'client key' | 'credential' | 'CA bundle';

export interface Held {
  readonly role: Role;
  /** Content with one character per byte; undefined when it is not known. */
  readonly content: string | undefined;
  /** Configured algorithm of a client key. */
  readonly algorithm?: string | undefined;
}

export interface Unusable<Item> {
  readonly item: Item;
  readonly reason: string;
  /** Fault and advice, without any of the content. */
  readonly message: string;
}

/** Lists contents with which the gateway would not start, no login would succeed, or no assertion could be signed. */
export function unusableContents<Item extends Held>(items: readonly Item[]): Unusable<Item>[] {
  const kids = new Set<string>();
  return items.flatMap((item): Unusable<Item>[] => {
    const fault = item.content === undefined ? undefined : faultOf(item, item.content, kids);
    return fault === undefined ? [] : [{ item, reason: REASONS[item.role], message: fault }];
  });
}

const REASONS: Readonly<Record<Role, string>> = {
  'signing key': 'InvalidKeyFile',
  'HMAC secret': 'InvalidKeyFile',
  'client secret': 'InvalidKeyFile',
  'client key': 'InvalidKeyFile',
  credential: 'SecretEmpty',
  'CA bundle': 'CABundleRefInvalid',
};

/** Returns the fault of a content. `kids` are the ids of the previous signing keys. */
function faultOf({ role, algorithm }: Held, content: string, kids: Set<string>): string | undefined {
  switch (role) {
    case 'signing key':
      return refusal('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256', () => {
        addKey(content, kids);
      });
    case 'HMAC secret':
      return refusal('openssl rand -base64 48', () => void readHmacSecret(content, () => undefined));
    case 'client secret':
      return refusal('openssl rand -base64 48', () => void readClientSecret(content));
    case 'client key':
      return refusal('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256', () => {
        readClientKey(content, algorithm);
      });
    case 'credential':
      return content.trim() === '' ? 'it is empty: add the value' : undefined;
    case 'CA bundle': {
      const fault = bundleFault(content);
      return fault === undefined ? undefined : `it contains ${fault}: put the CA's certificate there`;
    }
  }
}

function addKey(pem: string, kids: Set<string>): void {
  const { kid } = readSigningKey(pem);
  if (kids.has(kid)) throw new KeyRefused('the same key is already listed: remove it, or use another key');
  kids.add(kid);
}

/** Returns the message when `use` rejects a key. `generator` is a command that generates a valid one. */
function refusal(generator: string, use: () => void): string | undefined {
  try {
    use();
    return undefined;
  } catch (error) {
    if (error instanceof KeyRefused) return `${error.message} (generate one with "${generator}")`;
    throw error;
  }
}
