import type { Problem } from '../../../contract/problem.ts';
import { MANAGED_SECRET } from '../../server-run-config.ts';
import { invalid } from './member-problems.ts';

/** Key of a Secret in the namespace of the workload. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** Names of internal secrets of the management API. */
const INTERNAL = /^__sys_/u;
const KEY = /^[-._A-Za-z0-9]{1,253}$/u;
const SECRET = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/u;

/** Reads `KEY` of the provider's Secret, or `SECRET/KEY`. */
export function readSecretName(text: string, path: string): SecretKey | Problem {
  const slash = text.indexOf('/');
  const [name, key] = slash < 0 ? [MANAGED_SECRET, text] : [text.slice(0, slash), text.slice(slash + 1)];
  if (name === MANAGED_SECRET && INTERNAL.test(key))
    return invalid(path, 'the secret belongs to vmcp: name another one');
  if (SECRET.test(name) && KEY.test(key)) return { name, key };
  return invalid(path, 'must be the name of a secret, or SECRET/KEY of a Secret in the namespace of the workload');
}

export const isProblem = (value: object): value is Problem => 'reason' in value;
