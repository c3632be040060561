import type { ObjectProblem } from '../resolve/problems.ts';
import { warns, type Claim } from './claim.ts';
import { problemsMessage, type Self } from './message.ts';

/** One condition for all that works and is probably not what was meant; absent where there is nothing. */
export const adviceClaims = (warnings: readonly ObjectProblem[], self: Self): Claim[] =>
  warnings.length === 0 ? [] : [warns('Advisory', 'ReviewAdvised', problemsMessage(warnings, self))];
