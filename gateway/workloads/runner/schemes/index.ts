import { command } from './command.ts';
import { container } from './container.ts';
import { npx } from './npx.ts';
import type { Scheme } from './scheme.ts';
import { uvx } from './uvx.ts';

/** Schemes in the order of matching. `container` has the empty prefix and comes last. */
export const SCHEMES: readonly Scheme[] = [npx, uvx, command, container];
