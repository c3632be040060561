import type { ObjectProblem, ObjectRef } from '../../resolve/problems.ts';
import { references, type Reference } from '../../resolve/references.ts';
import type { VirtualMCPServer } from '../../resolve/snapshot.ts';
import type { SecretValues } from '../../source/files/file-values.ts';
import { unusableContents, type Held, type Role } from './unusable-contents.ts';

const PATH = 'spec.authServerConfig';

/** Lists Secrets that the embedded authorization server cannot use. Messages never contain their values. */
export async function unusableSecrets(
  { spec, ...vmcp }: VirtualMCPServer,
  object: ObjectRef,
  values: SecretValues,
): Promise<ObjectProblem[]> {
  if (!spec.authServerConfig) return [];
  const named = references({ ...vmcp, spec }).filter(
    ({ path, target }) => target === 'Secret' && path.startsWith(`${PATH}.`),
  );
  const once = named.filter(
    ({ path, name, key }, index) =>
      named.findIndex((other) => other.name === name && other.key === key && roleOf(other.path) === roleOf(path)) ===
      index,
  );
  const held = await Promise.all(once.map((reference) => contentOf(reference, object.namespace, values)));
  return unusableContents(held).map(({ item: { reference }, reason, message }) => ({
    ...object,
    path: `${reference.path}.key`,
    reason,
    message: `key "${String(reference.key)}" of Secret "${reference.name}": ${message}`,
  }));
}

async function contentOf(
  reference: Reference,
  namespace: string,
  values: SecretValues,
): Promise<Held & { readonly reference: Reference }> {
  const { name, key = '', path } = reference;
  const bytes = await values.read({ kind: 'Secret', namespace, name, key });
  return { reference, role: roleOf(path), content: bytes && Buffer.from(bytes).toString('latin1') };
}

function roleOf(path: string): Role {
  if (path.startsWith(`${PATH}.signingKeySecretRefs[`)) return 'signing key';
  if (path.startsWith(`${PATH}.hmacSecretRefs[`)) return 'HMAC secret';
  if (path.startsWith(`${PATH}.delegateClients[`)) return 'client secret';
  return path.endsWith('.caCertSecretRef') ? 'CA bundle' : 'credential';
}
