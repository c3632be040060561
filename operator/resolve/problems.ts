import type { Problem } from '../../gateway/contract/problem.ts';

/** Names one object of the resources; `kind` as written in the object. */
export interface ObjectRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export const refKey = ({ kind, namespace, name }: ObjectRef): string => `${kind}/${namespace}/${name}`;

/** A mistake and the object that holds it, which need not be the object being resolved. */
export interface ObjectProblem extends Problem, ObjectRef {}

/** Reasons that only say that a mistake reported elsewhere has reached this server. */
export const CONSEQUENCE_REASON = 'ReferencedObjectInvalid';

/** Keeps the first of several equal problems, in the given order. */
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
