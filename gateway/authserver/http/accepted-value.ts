import type { Outcome } from '../core/refusal.ts';
import { Refused } from './refused.ts';

/** Returns the value of an accepted outcome. Throws `Refused` with the reason of a refused one. */
export function acceptedValue<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new Refused(outcome.reason);
  return outcome.value;
}
