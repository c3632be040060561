import type { KubeObject } from '../../gateway/kube/resource.ts';
import { patchProblems } from '../render/pod-template/patch.ts';
import type { ObjectProblem, ObjectRef } from '../resolve/problems.ts';
import { compareText } from '../resolve/snapshot.ts';
import { fails, holds, isOpen, verdict, type Claim } from './claim.ts';
import { conditionsOf, eventsOf, settle, statusOf, type ObjectStatus } from './conditions.ts';
import { ordered, problemsMessage, type Self } from './message.ts';
import { GATEWAY_MEMBERS } from './same-status.ts';

/** Why there is no workload. */
export const workloadProblems = (problems: readonly ObjectProblem[], self: Self): string =>
  `nothing is deployed before this is corrected: ${problemsMessage(problems, self)}`;

/** What is wrong with the patch of the pod template; the old pods go on. */
const isAboutPodTemplate = ({ path }: ObjectProblem): boolean => /^spec\.podTemplateSpec\b/u.test(path);

interface PodTemplate {
  readonly type: string;
  readonly good: string;
  readonly patch: object;
  readonly object: ObjectRef;
  /** Of rendering and of applying. */
  readonly problems: readonly ObjectProblem[];
  /** False while something else keeps the pods from being rendered: then nothing has judged the patch. */
  readonly isRendered: boolean;
}

/** States whether the patch of the pod template fits. Unknown while it was not put on the template. */
export function podTemplateClaim({ type, good, patch, object, problems, isRendered }: PodTemplate): Claim {
  const about = isRendered ? problems.filter(isAboutPodTemplate) : patchProblems(patch, object);
  if (about.length === 0 && !isRendered) {
    return isOpen(type, 'NotRendered', 'the patch is judged once everything else in the spec is right');
  }
  const fits = { reason: good, message: 'the patch fits the pod template' };
  return verdict(type, fits, about, () => 'InvalidPodTemplateSpec', object);
}

interface Applied {
  /** Of rendering and of applying. */
  readonly problems: readonly ObjectProblem[];
  readonly isThere: boolean;
  /** Whether the spec could be rendered. */
  readonly isCurrent: boolean;
}

/** Whether the API server took what was rendered; absent before anything was. The reason is that of the first refusal. */
export function appliedClaims({ problems, isThere, isCurrent }: Applied, self: Self): Claim[] {
  const about = problems.filter((problem) => !isAboutPodTemplate(problem));
  const [first] = ordered(about, self);
  if (first) return [fails('Applied', first.reason, problemsMessage(about, self))];
  if (!isThere) return [];
  if (isCurrent && problems.length === 0)
    return [holds('Applied', 'ObjectsApplied', 'the objects are as the spec asks')];
  return [isOpen('Applied', 'EarlierSpec', 'what runs is of an earlier spec, until what is wrong is corrected')];
}

/** What was said of an object, but that nothing can be applied for it now, or not even be looked at. */
export function applyFailedStatus(object: KubeObject, message: string, now: string): ObjectStatus {
  const claims = [fails('Applied', 'ApplyFailed', message)];
  const said = Object.entries(statusOf(object)).filter(([member]) => !GATEWAY_MEMBERS.includes(member));
  const others = [...conditionsOf(object).values()].filter(({ type }) => type !== 'Applied');
  const conditions = [...others, ...settle(object, claims, now)].toSorted((a, b) => compareText(a.type, b.type));
  return { status: { ...Object.fromEntries(said), conditions }, ready: false, events: eventsOf(object, claims) };
}
