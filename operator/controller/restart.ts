import type { KubeObject } from '../../gateway/kube/resource.ts';
import { isWorkload } from '../apply/owned.ts';

/** Annotations of a custom resource that restart its pods when their value changes. The second one depends on the kind. */
const annotationNames = ({ kind }: KubeObject): readonly string[] => [
  'vmcp.dev/restarted-at',
  `${kind.toLowerCase()}.vmcp.dev/restarted-at`,
];
const RESTARTED_AT = 'vmcp.dev/restarted-at';

interface Template {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

/** Copies the restart annotation of the owner to the pod templates of its workloads. The newest value wins. */
export function withRestart(owner: KubeObject, objects: readonly KubeObject[]): readonly KubeObject[] {
  const { annotations = {} } = owner.metadata;
  const restartedAt = annotationNames(owner)
    .flatMap((name) => annotations[name] ?? [])
    .toSorted()
    .at(-1);
  if (restartedAt === undefined || restartedAt === '') return objects;
  return objects.map((object) => (isWorkload(object) ? restarted(object, restartedAt) : object));
}

function restarted(workload: KubeObject, restartedAt: string): KubeObject {
  const spec = workload['spec'] as { readonly template: Template };
  const { template } = spec;
  const annotations = { ...template.metadata?.annotations, [RESTARTED_AT]: restartedAt };
  return { ...workload, spec: { ...spec, template: { ...template, metadata: { ...template.metadata, annotations } } } };
}
