import { pathText, places } from '../../../crds/kinds/schema/object-path.ts';

/**
 * A set of fields of a kind: a path in which `[]` matches every index and `{}` every member of a map, such as
 * `spec.config.aggregation.tools[].overrides{}.name`. It includes the field and all fields below.
 */
export type FieldPattern = string;

/** Lists the fields of an object that match a pattern, with path and value. */
export const occurrences = (root: unknown, pattern: FieldPattern): { path: string; value: unknown }[] =>
  places(root, pattern).map(({ steps, value }) => ({ path: pathText(steps), value }));

/** Returns true when a pattern names a field or a parent of it. */
export const covers = (pattern: FieldPattern, field: FieldPattern): boolean =>
  field === pattern || (field.startsWith(pattern) && /^[.[{]/u.test(field.slice(pattern.length)));
