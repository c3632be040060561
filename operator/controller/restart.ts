import type { KubeObject } from '../../gateway/kube/resource.ts';
import { isWorkload } from '../apply/owned.ts';

/** On a custom resource: a new value rolls its pods. The second name is the one by kind. */
const NAMES = ({ kind }: KubeObject): readonly string[] => [
  'vmcp.dev/restarted-at',
  `${kind.toLowerCase()}.vmcp.dev/restarted-at`,
];
const RESTARTED_AT = 'vmcp.dev/restarted-at';

interface Template {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

/** Copies the wish to restart from the owner to the pods of its workloads; the newer one of two. */
export function withRestart(owner: KubeObject, objects: readonly KubeObject[]): readonly KubeObject[] {
  const { annotations = {} } = owner.metadata;
  const wish = NAMES(owner)
    .flatMap((name) => annotations[name] ?? [])
    .toSorted()
    .at(-1);
  if (wish === undefined || wish === '') return objects;
  return objects.map((object) => (isWorkload(object) ? restarted(object, wish) : object));
}

function restarted(workload: KubeObject, wish: string): KubeObject {
  const spec = workload['spec'] as { readonly template: Template };
  const { template } = spec;
  const annotations = { ...template.metadata?.annotations, [RESTARTED_AT]: wish };
  return { ...workload, spec: { ...spec, template: { ...template, metadata: { ...template.metadata, annotations } } } };
}
