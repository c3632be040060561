import type { Lab } from './lab.ts';
import type { Check, Kind } from './result.ts';

/** Checks of an entry of a unit. */
export interface Found {
  readonly name: string;
  readonly checks: readonly Check[];
}

/** Entry of a registry, as the table names it. */
export interface Listed {
  readonly kind: Kind;
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** Entries that run together. */
export interface Unit {
  readonly entries: readonly Listed[];
  run(lab: Lab): AsyncIterable<Found>;
}
