import type { ApiError } from '../../gateway/kube/client.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../resolve/scope.ts';
import { isWorkload } from './owned.ts';
import { isObject } from '../../gateway/contract/json.ts';
import { keysOf, sameItem } from './drift.ts';

const MAX_MESSAGE = 1_000;

/** Returns a problem of `owner` about one of its objects. */
export const problemOf = (owner: KubeObject, reason: string, message: string): ObjectProblem => ({
  kind: owner.kind,
  namespace: owner.metadata.namespace ?? '',
  name: owner.metadata.name,
  path: '',
  reason,
  message,
});

export const nameTaken = (owner: KubeObject, { kind, metadata }: KubeObject): ObjectProblem =>
  problemOf(
    owner,
    'NameTaken',
    `a ${kind} "${metadata.name}" exists that does not belong to ${owner.kind} "${owner.metadata.name}": ` +
      `it stays unchanged; delete or rename it, or rename the ${owner.kind}`,
  );

export const anotherOperator = (owner: KubeObject, other: string, againInMs: number | undefined): ObjectProblem =>
  problemOf(
    owner,
    'AnotherOperator',
    `the objects of ${owner.kind} "${owner.metadata.name}" were applied by another operator, ${other}: they stay ${
      againInMs === undefined
        ? 'unchanged, because it applied them again; let only one operator watch this namespace, then restart that one'
        : 'unchanged while it may still change them; let only one operator watch this namespace'
    }`,
  );

/** Returns true when the namespace is being deleted, in which nothing can be created. */
export const isOfTerminating = ({ status, message }: ApiError): boolean =>
  status === 403 && message.includes('being terminated');

/**
 * Returns the problem that a user has to solve when the API server rejects an object. Undefined for temporary errors:
 * the request should be retried.
 */
export function refusalOf(error: ApiError, object: KubeObject, owner: KubeObject): ObjectProblem | undefined {
  const what = `${object.kind} "${object.metadata.name}"`;
  const { status } = error;
  const message = error.message.slice(0, MAX_MESSAGE);
  if (isOfTerminating(error)) return undefined;
  if (status === 403) return forbidden(message, what, owner);
  if (status === 413 || isTooLarge(error)) {
    const text = `${what} is too large for the API server (${message}): use fewer or smaller backends, tools and metadata`;
    return problemOf(owner, 'ApplyTooLarge', text);
  }
  if (status === 422 || status === 400) {
    const patch = podPatchOf(owner);
    if (isWorkload(object) && patch !== undefined && isCausedByPatch(error, object, patch))
      return badPatch(message, what, owner);
    return problemOf(
      owner,
      'ApplyInvalid',
      `the API server rejects ${what} (${message}): correct the fields that it names`,
    );
  }
  return undefined;
}

/** Returns true for a ConfigMap above 1 MiB and for an object above the limit of etcd; neither is rejected as 413. */
const isTooLarge = ({ message }: ApiError): boolean =>
  (message.includes('Too long: ') && message.includes(' 1048576 bytes')) || message.includes('request is too large');

/** Returns the problem of a workload that is rejected because of the user's patch. */
const badPatch = (message: string, what: string, owner: KubeObject): ObjectProblem => ({
  ...problemOf(
    owner,
    'InvalidPodTemplateSpec',
    `the API server rejects ${what} with this patch (${message}): correct the patch`,
  ),
  path: 'spec.podTemplateSpec',
});

const podPatchOf = (owner: KubeObject): unknown =>
  (owner['spec'] as { podTemplateSpec?: unknown } | undefined)?.podTemplateSpec;

function forbidden(message: string, what: string, owner: KubeObject): ObjectProblem {
  if (message.includes('exceeded quota')) {
    const text = `a quota of the namespace forbids ${what} (${message}): raise the quota or free some of it`;
    return problemOf(owner, 'QuotaExceeded', text);
  }
  if (message.includes('attempting to grant RBAC permissions')) {
    const text = `the operator cannot grant the rights of ${what} (${message}): give its own role these rights`;
    return problemOf(owner, 'RBACForbidden', text);
  }
  const text = `the API server forbids ${what} (${message}): give the operator this right, or satisfy the policy that it names`;
  return problemOf(owner, 'ApplyForbidden', text);
}

/**
 * Returns true when a patch of the pod template can be the cause of a rejection: it sets a field that the error names, or
 * removes something. Other fields come from the rest of the spec. An error that names no field is counted, too.
 */
export function isCausedByPatch({ fields }: ApiError, { spec }: KubeObject, patch: unknown): boolean {
  if (fields.length === 0 || removes(patch)) return true;
  const { template } = spec as { readonly template?: unknown };
  return fields.some((field) => isTouched(patch, template, stepsOf(field), false));
}

/** Returns true for a patch with directives, or with null, which removes a field. */
function removes(patch: unknown): boolean {
  if (patch === null) return true;
  if (typeof patch !== 'object') return false;
  return Object.entries(patch).some(([member, value]) => member.startsWith('$') || removes(value));
}

/** Splits a field such as `spec.template.spec.containers[0].image` into steps from the template. */
function stepsOf(field: string): string[] {
  const [, , ...steps] = field.split(/[.[\]]/u).filter((step) => step !== '');
  return steps[0] === 'labels' || steps[0] === 'annotations' ? ['metadata', ...steps] : steps;
}

/** @param isItem true for an item of a list, which both sides can complete */
function isTouched(patch: unknown, desired: unknown, [step, ...rest]: readonly string[], isItem: boolean): boolean {
  if (patch === undefined) return false;
  if (step === undefined || !isObject(patch) || !isObject(desired) || desired[step] === undefined) return true;
  const [part, whole] = [patch[step], desired[step]];
  if (rest.length === 0) return part !== undefined || !isItem;
  if (!Array.isArray(whole)) return isTouched(part, whole, rest, false);
  const [index, ...below] = rest;
  const keys = keysOf(step);
  if (!keys || !Array.isArray(part)) return part !== undefined;
  const item: unknown = whole[Number(index)];
  return isTouched(
    part.find((each) => sameItem(each, item, keys)),
    item,
    below,
    true,
  );
}
