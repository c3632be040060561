import { pathText, type Steps, places } from '../../../crds/kinds/schema/object-path.ts';

/** Steps from an object's root: a member name, or an index of a list. */
export type FieldPath = Steps;

/** Appends a step to the text of a path. */
export function childPath(text: string, step: string | number): string {
  const below = pathText([step]);
  return text === '' || below.startsWith('[') ? text + below : `${text}.${below}`;
}

const STEP = /\.?([^.[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/uy;

/** Parses the text of a path, as `pathText` writes it, up to the first invalid step. */
export function parsePath(text: string): FieldPath {
  const steps: (string | number)[] = [];
  STEP.lastIndex = 0;
  for (let match = STEP.exec(text); match !== null; match = STEP.exec(text)) {
    const [, member, index, quoted] = match;
    if (member !== undefined) steps.push(member);
    else if (index !== undefined) steps.push(Number(index));
    else steps.push(JSON.parse(`"${quoted ?? ''}"`) as string);
  }
  return steps;
}

/** Returns the value at a path, or undefined. */
export function valueAt(root: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(
    (node, step) => (typeof node === 'object' && node !== null ? (node as Record<string, unknown>)[step] : undefined),
    root,
  );
}

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
