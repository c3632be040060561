import { pathText, type Steps } from '../../../crds/kinds/schema/object-path.ts';

/** Steps from an object's root: a member name, or an index of a list. */
export type FieldPath = Steps;

/** Text of the path one step below another. */
export function childPath(text: string, step: string | number): string {
  const below = pathText([step]);
  return text === '' || below.startsWith('[') ? text + below : `${text}.${below}`;
}

const STEP = /\.?([^.[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/uy;

/** The inverse of `pathText`; text that it did not write ends at the last step that could be read. */
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

/** The value at a path, or undefined where nothing stands. */
export function valueAt(root: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(
    (node, step) => (typeof node === 'object' && node !== null ? (node as Record<string, unknown>)[step] : undefined),
    root,
  );
}
