import { container } from './container.ts';
import { npx } from './npx.ts';
import type { Scheme } from './scheme.ts';
import { uvx } from './uvx.ts';

/** The first whose prefix matches runs the image; `container` has the empty prefix and comes last. */
export const SCHEMES: readonly Scheme[] = [npx, uvx, container];
