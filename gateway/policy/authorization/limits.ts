/** Longest text of all policies, and of the entities, in bytes. Both stand in ConfigMaps, which hold 1 MiB. */
export const MAX_POLICY_BYTES = 256 * 1_024;
/** Deepest nesting of a policy's syntax tree. The evaluator's stack holds a few times as much. */
export const MAX_POLICY_DEPTH = 100;
/** Deepest nesting that Cedar reads as JSON: 128 levels, of which an expression has two. */
export const MAX_JSON_DEPTH = 58;
export const MAX_POLICIES = 1_000;
export const MAX_ENTITIES = 10_000;
/** Longest chain of parents of an entity. */
export const MAX_ANCESTRY = 100;
