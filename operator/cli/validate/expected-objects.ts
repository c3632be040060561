import { isObject } from '../../../gateway/contract/json.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import { occurrences, type FieldPattern } from '../../resolve/fields/field-pattern.ts';
import { EXPECTED_IN_CLUSTER } from '../../resolve/references.ts';
import { objectsOf, type Resource } from '../../resolve/snapshot.ts';
import type { Manifests } from '../../source/files/load.ts';

/** Fields that name an object for the pods: the kind, and the member with the name, '' where the value is the name. */
type Field = readonly [pattern: FieldPattern, kind: string, member: string];

const POD = 'spec.podTemplateSpec.spec';
const ofContainers = (list: string): Field[] => [
  [`${POD}.${list}[].envFrom[].secretRef`, 'Secret', 'name'],
  [`${POD}.${list}[].envFrom[].configMapRef`, 'ConfigMap', 'name'],
  [`${POD}.${list}[].env[].valueFrom.secretKeyRef`, 'Secret', 'name'],
  [`${POD}.${list}[].env[].valueFrom.configMapKeyRef`, 'ConfigMap', 'name'],
];

/** Names that the operator passes on to the pods. Kubernetes resolves them when the pods start. */
const FIELDS: readonly Field[] = [
  ['spec.serviceAccount', 'ServiceAccount', ''],
  ['spec.imagePullSecrets[]', 'Secret', 'name'],
  ['spec.resourceOverrides.proxyDeployment.imagePullSecrets[]', 'Secret', 'name'],
  [`${POD}.serviceAccountName`, 'ServiceAccount', ''],
  [`${POD}.imagePullSecrets[]`, 'Secret', 'name'],
  [`${POD}.volumes[].secret`, 'Secret', 'secretName'],
  [`${POD}.volumes[].configMap`, 'ConfigMap', 'name'],
  [`${POD}.volumes[].projected.sources[].secret`, 'Secret', 'name'],
  [`${POD}.volumes[].projected.sources[].configMap`, 'ConfigMap', 'name'],
  [`${POD}.volumes[].persistentVolumeClaim`, 'PersistentVolumeClaim', 'claimName'],
  ...ofContainers('containers'),
  ...ofContainers('initContainers'),
];

/** Warns about objects that pods need and that are not in the files. Nothing offline knows if a cluster has them. */
export function expectedObjects({ snapshots, objects }: Pick<Manifests, 'snapshots' | 'objects'>): ObjectProblem[] {
  const present = new Set(objects.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`));
  return [...snapshots.values()].flatMap((snapshot) =>
    objectsOf(snapshot).flatMap((object) => {
      const { kind, metadata } = object;
      const owner = { kind, namespace: snapshot.namespace, name: metadata.name };
      return namedBy(object)
        .filter((named) => !present.has(`${named.kind}/${snapshot.namespace}/${named.name}`))
        .map((named) => ({
          ...owner,
          path: named.path,
          reason: EXPECTED_IN_CLUSTER,
          message: `expects ${named.kind} "${named.name}" in namespace ${snapshot.namespace}: it is not in these files`,
        }));
    }),
  );
}

interface Named {
  readonly path: string;
  readonly kind: string;
  readonly name: string;
}

const namedBy = (object: Resource): Named[] =>
  FIELDS.flatMap(([pattern, kind, member]) =>
    occurrences(object, pattern).flatMap(({ path, value }) => {
      const name = member === '' ? value : isObject(value) && value['optional'] !== true ? value[member] : undefined;
      const where = member === '' ? path : `${path}.${member}`;
      return typeof name === 'string' && name !== '' ? [{ path: where, kind, name }] : [];
    }),
  );
