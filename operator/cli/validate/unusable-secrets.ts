import type { ObjectProblem, ObjectRef, Mount } from '../../resolve/scope.ts';
import { parsePath, valueAt } from '../../resolve/fields/field-path.ts';
import { references, type Reference } from '../../resolve/references.ts';
import { objectsOf, type Resource, type Snapshot, type VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { SecretValues } from '../../source/files/host-variables.ts';
import { unusableContents, type Held, type Role } from '../unusable-files.ts';

const PATH = 'spec.authServerConfig';
const CLIENT_KEY = '.privateKeyJwt.privateKeyRef';

/** Reference to a Secret with the object that has it. */
interface Named {
  readonly holder: Resource;
  readonly reference: Reference;
}

/**
 * Lists Secrets that the embedded authorization server cannot use, and private keys that sign nothing, also those of other objects
 * if the server mounts them. Messages never contain their values.
 */
export async function unusableSecrets(
  vmcp: VirtualMCPServer,
  snapshot: Snapshot,
  { mounts, values }: { readonly mounts: readonly Mount[]; readonly values: SecretValues },
): Promise<ObjectProblem[]> {
  const named = [...secretsOf(vmcp), ...objectsOf(snapshot).flatMap((holder) => keysOf(holder, mounts))];
  const held = await Promise.all(once(named).map((each) => contentOf(each, snapshot.namespace, values)));
  return unusableContents(held).map(({ item: { holder, reference }, reason, message }) => ({
    ...refOf(holder, snapshot.namespace),
    path: `${reference.path}.key`,
    reason,
    message: `key "${String(reference.key)}" of Secret "${reference.name}": ${message}`,
  }));
}

const refOf = ({ kind, metadata: { name } }: Resource, namespace: string): ObjectRef => ({ kind, namespace, name });

/** Lists the Secrets of a virtual server whose content is checked. */
const secretsOf = (holder: VirtualMCPServer): Named[] =>
  references(holder)
    .filter(({ path, target }) => target === 'Secret' && (path.startsWith(`${PATH}.`) || path.endsWith(CLIENT_KEY)))
    .map((reference) => ({ holder, reference }));

/** Lists the private keys of clients in an object that are mounted. */
const keysOf = (holder: Resource, mounts: readonly Mount[]): Named[] =>
  holder.kind === 'VirtualMCPServer'
    ? []
    : references(holder)
        .filter(({ path, name, key }) => path.endsWith(CLIENT_KEY) && isMounted(mounts, name, key))
        .map((reference) => ({ holder, reference }));

const isMounted = (mounts: readonly Mount[], name: string, key: string | undefined): boolean =>
  mounts.some((mount) => mount.kind === 'Secret' && mount.name === name && mount.key === key);

/** Keeps the first of several fields that use the same key of a Secret in the same way. */
function once(named: readonly Named[]): Named[] {
  const kept = new Map<string, Named>();
  for (const each of named) {
    const { name, key, path } = each.reference;
    const use = JSON.stringify([name, key, roleOf(path), algorithmOf(each)]);
    kept.set(use, kept.get(use) ?? each);
  }
  return [...kept.values()];
}

/** Returns the algorithm beside the reference to a private key. */
function algorithmOf({ holder, reference: { path } }: Named): string | undefined {
  const algorithm = valueAt(holder, [...parsePath(path).slice(0, -1), 'algorithm']);
  return typeof algorithm === 'string' ? algorithm : undefined;
}

async function contentOf(named: Named, namespace: string, values: SecretValues): Promise<Held & Named> {
  const { name, key = '', path } = named.reference;
  const bytes = await values.read({ kind: 'Secret', namespace, name, key });
  const content = bytes && Buffer.from(bytes).toString('latin1');
  return { ...named, role: roleOf(path), content, algorithm: algorithmOf(named) };
}

function roleOf(path: string): Role {
  if (path.endsWith(CLIENT_KEY)) return 'client key';
  if (path.startsWith(`${PATH}.signingKeySecretRefs[`)) return 'signing key';
  if (path.startsWith(`${PATH}.hmacSecretRefs[`)) return 'HMAC secret';
  if (path.startsWith(`${PATH}.delegateClients[`)) return 'client secret';
  return path.endsWith('.caCertSecretRef') ? 'CA bundle' : 'credential';
}
