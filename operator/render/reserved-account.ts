import type { ObjectProblem } from '../resolve/problems.ts';
import type { RenderOptions } from './options.ts';
import type { Owned } from './owned.ts';
import { isObject, type JsonObject } from '../../gateway/contract/json.ts';

/** Account of pods that do not set one. */
const DEFAULT_ACCOUNT = 'default';

/** Rejects pods that would run as the operator. `before` is the template without the user's patch. */
export function accountProblems(
  { object }: Owned,
  { serviceAccount }: { readonly serviceAccount?: string },
  before: JsonObject,
  patched: JsonObject,
  { operatorAccount }: RenderOptions,
): ObjectProblem[] {
  const account = accountOf(patched);
  if (operatorAccount?.namespace !== object.namespace || operatorAccount.name !== account) return [];
  const path =
    accountOf(before) !== account
      ? 'spec.podTemplateSpec.spec.serviceAccountName'
      : serviceAccount === undefined
        ? 'metadata.name'
        : 'spec.serviceAccount';
  const message = `the pods would run as "${account}", the operator's own account: use another account or another namespace`;
  return [{ ...object, path, reason: 'ReservedAccount', message }];
}

const accountOf = ({ spec }: JsonObject): unknown =>
  isObject(spec) ? (spec['serviceAccountName'] ?? DEFAULT_ACCOUNT) : DEFAULT_ACCOUNT;
