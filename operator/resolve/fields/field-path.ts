import { pathText, type Steps } from '../../../crds/kinds/schema/object-path.ts';

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
