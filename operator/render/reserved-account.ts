import type { ObjectProblem } from '../resolve/problems.ts';
import type { RenderOptions } from './options.ts';
import type { Owned } from './owned.ts';
import { isObject, type JsonObject } from '../../gateway/contract/json.ts';

/** The account of pods that name none. */
const DEFAULT_ACCOUNT = 'default';

/** Refuses pods that would run as the operator. `before` is the template without the user's patch. */
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
  const message = `the pods would run as "${account}", the account of the operator itself: use another one, or another namespace`;
  return [{ ...object, path, reason: 'ReservedAccount', message }];
}

const accountOf = ({ spec }: JsonObject): unknown =>
  isObject(spec) ? (spec['serviceAccountName'] ?? DEFAULT_ACCOUNT) : DEFAULT_ACCOUNT;
