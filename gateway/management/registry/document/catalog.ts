import type { EntryProblem } from '../schema/registry.ts';
import type { ServerRecord } from '../schema/server-json.ts';
import type { RegistrySkill } from '../schema/skill.ts';

/** Content of one registry, sorted by name. */
export interface Catalog {
  readonly version: string;
  /** RFC 3339. */
  readonly lastUpdated: string;
  readonly servers: readonly ServerRecord[];
  /** undefined when the registry did not deliver its list of skills. */
  readonly skills: readonly RegistrySkill[] | undefined;
  /** Entries that do not fit their schema. */
  readonly problems?: readonly EntryProblem[];
}

/** Compares by code units, so that an order is the same on every machine. */
export const inOrder = (one: string, two: string): number => (one < two ? -1 : Number(one > two));
