import type { KubeObject } from '../../gateway/kube/resource.ts';
import { patchProblems } from '../render/pod-template/patch.ts';
import type { ObjectProblem, ObjectRef } from '../resolve/scope.ts';
import { compareText } from '../resolve/snapshot.ts';
import {
  failedCondition,
  trueCondition,
  unknownCondition,
  validityCondition,
  type ConditionState,
  conditionsOf,
  eventsOf,
  withTransitionTimes,
  statusOf,
  type ObjectStatus,
  ordered,
  problemsMessage,
  type Self,
} from './conditions.ts';
import { reconciling } from './progress.ts';
import { GATEWAY_MEMBERS } from './same-status.ts';

/** Returns the message of `Ready` when problems prevent the deployment. */
export const workloadProblems = (problems: readonly ObjectProblem[], self: Self): string =>
  `nothing is deployed until this is corrected: ${problemsMessage(problems, self)}`;

/** Returns true for problems of `spec.podTemplateSpec`. The pods of an earlier spec keep running. */
const isAboutPodTemplate = ({ path }: ObjectProblem): boolean => /^spec\.podTemplateSpec\b/u.test(path);

interface PodTemplate {
  readonly type: string;
  readonly good: string;
  readonly patch: object;
  readonly object: ObjectRef;
  /** Problems found while rendering and applying. */
  readonly problems: readonly ObjectProblem[];
  /** False while another problem prevents rendering: the patch has then not been applied to the template. */
  readonly isRendered: boolean;
}

/** Builds the condition for the pod template patch. Unknown while the patch has not been applied to the template. */
export function podTemplateCondition({ type, good, patch, object, problems, isRendered }: PodTemplate): ConditionState {
  const about = isRendered ? problems.filter(isAboutPodTemplate) : patchProblems(patch, object);
  if (about.length === 0 && !isRendered) {
    return unknownCondition(type, 'NotRendered', 'the patch is checked once the rest of the spec is valid');
  }
  const fits = { reason: good, message: 'the patch fits the pod template' };
  return validityCondition(type, fits, about, () => 'InvalidPodTemplateSpec', object);
}

interface Applied {
  /** Problems found while rendering and applying. */
  readonly problems: readonly ObjectProblem[];
  readonly exists: boolean;
  /** True when the current spec could be rendered. */
  readonly isCurrent: boolean;
}

/** Builds `Applied`, with the reason of the first problem. Absent until a workload exists. */
export function appliedConditions({ problems, exists, isCurrent }: Applied, self: Self): ConditionState[] {
  const about = problems.filter((problem) => !isAboutPodTemplate(problem));
  const [first] = ordered(about, self);
  if (first) return [failedCondition('Applied', first.reason, problemsMessage(about, self))];
  if (!exists) return [];
  if (isCurrent && problems.length === 0)
    return [trueCondition('Applied', 'ObjectsApplied', 'the objects match the spec')];
  return [
    unknownCondition('Applied', 'EarlierSpec', 'an earlier spec stays deployed until the problems are corrected'),
  ];
}

/** Returns the previous status of an object with a false `Applied`: applying, or reading what it needs, failed and is retried. */
export function applyFailedStatus(object: KubeObject, message: string, now: string): ObjectStatus {
  const live = conditionsOf(object);
  const states = [
    failedCondition('Applied', 'ApplyFailed', message),
    ...(live.has('Stalled') ? [] : [reconciling('ApplyFailed', message)]),
  ];
  const previous = Object.entries(statusOf(object)).filter(([member]) => !GATEWAY_MEMBERS.includes(member));
  const others = [...live.values()].filter(({ type }) => states.every((state) => state.type !== type));
  const conditions = [...others, ...withTransitionTimes(object, states, now)].toSorted((a, b) =>
    compareText(a.type, b.type),
  );
  return { status: { ...Object.fromEntries(previous), conditions }, ready: false, events: eventsOf(object, states) };
}
