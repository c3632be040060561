import type { Outcome } from '../core/refusal.ts';
import { Refused } from './refused.ts';

/** What a pure step has come to. Throws `Refused` with its reason. */
export function acceptedValue<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new Refused(outcome.reason);
  return outcome.value;
}
