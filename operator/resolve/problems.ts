import type { Problem } from '../../gateway/contract/problem.ts';

/** Names one object of the resources; `kind` as written in the object. */
export interface ObjectRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export const refKey = ({ kind, namespace, name }: ObjectRef): string => `${kind}/${namespace}/${name}`;

/** Problem with the object that has it, which need not be the object being resolved. */
export interface ObjectProblem extends Problem, ObjectRef {}

/** Reason of a problem that only repeats that a referenced object has problems. */
export const CONSEQUENCE_REASON = 'ReferencedObjectInvalid';

/** Removes repeated problems and keeps the order. */
export function distinct<P extends ObjectProblem>(problems: readonly P[]): P[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    const key = JSON.stringify([
      problem.kind,
      problem.namespace,
      problem.name,
      problem.path,
      problem.reason,
      problem.message,
    ]);
    return !seen.has(key) && seen.add(key);
  });
}
