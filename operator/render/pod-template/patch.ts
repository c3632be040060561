import { pathText, type Steps } from '../../../crds/kinds/schema/object-path.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/problems.ts';
import { compareText } from '../../resolve/snapshot.ts';
import { canonicalTemplate } from './canonical.ts';
import { patchFaults, type Fault } from './check.ts';
import { templateFaults } from './consistency.ts';
import { strategicMerge } from './strategic-merge.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

const PATH: Steps = ['spec', 'podTemplateSpec'];
const INVALID_POD_TEMPLATE = 'InvalidPodTemplateSpec';

/** Parts of the template that a user's patch must keep. */
interface Protected {
  readonly selector: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Names of containers. */
  readonly containers: readonly string[];
}

/** Applies the user's patch and returns the template as the API server returns it, or the problems of the patch. */
export function patchTemplate(
  template: JsonObject,
  patch: object | undefined,
  kept: Protected,
  object: ObjectRef,
): { readonly template: JsonObject } | { readonly problems: ObjectProblem[] } {
  if (patch === undefined) return { template: canonicalTemplate(template) };
  const faults = patchFaults(patch);
  const merged = faults.length === 0 ? strategicMerge(template, { ...patch }) : {};
  const all = faults.length === 0 ? [...lossFaults(merged, kept), ...addedFaults(template, merged)] : faults;
  return all.length === 0 ? { template: canonicalTemplate(merged) } : { problems: problemsOf(all, object) };
}

/** Lists the problems of a patch that do not depend on the template, for a workload that is not rendered. */
export const patchProblems = (patch: object | undefined, object: ObjectRef): ObjectProblem[] =>
  patch === undefined ? [] : problemsOf(patchFaults(patch), object);

function problemsOf(faults: readonly Fault[], object: ObjectRef): ObjectProblem[] {
  const problems = faults.map(({ steps, message }) => ({
    ...object,
    path: pathText([...PATH, ...steps]),
    reason: INVALID_POD_TEMPLATE,
    message,
  }));
  return problems.toSorted((a, b) => compareText(a.path, b.path));
}

/** Lists contradictions that the template does not have without the patch. */
function addedFaults(template: JsonObject, merged: JsonObject): Fault[] {
  const own = new Set(templateFaults(template).map(({ message }) => message));
  return templateFaults(merged).filter(({ message }) => !own.has(message));
}

function lossFaults({ metadata, spec }: JsonObject, kept: Protected): Fault[] {
  const pod = isObject(spec) ? spec : {};
  return [
    ...changed(metadata, 'labels', kept.selector, 'it selects the pods'),
    ...changed(metadata, 'annotations', kept.annotations, 'the operator sets it'),
    ...kept.containers.filter((name) => !containerNames(pod).includes(name)).map(containerLost),
    ...('serviceAccount' in pod
      ? [{ steps: ['spec', 'serviceAccount'], message: 'is deprecated: use serviceAccountName' }]
      : []),
  ];
}

function changed(metadata: unknown, member: string, kept: Readonly<Record<string, string>>, why: string): Fault[] {
  const held = isObject(metadata) && isObject(metadata[member]) ? metadata[member] : {};
  return Object.entries(kept)
    .filter(([name, value]) => held[name] !== value)
    .map(([name]) => ({
      steps: ['metadata', member, name],
      message: `cannot be changed or removed, ${why}: remove it from the patch`,
    }));
}

const containerNames = ({ containers }: JsonObject): unknown[] =>
  Array.isArray(containers) ? containers.map((each: unknown) => (isObject(each) ? each['name'] : undefined)) : [];

const containerLost = (name: string): Fault => ({
  steps: ['spec', 'containers'],
  message: `container "${name}" cannot be removed: correct the patch`,
});
