/** Path from the root of an object: member names and list indexes. */
export type Steps = readonly (string | number)[];

const PLAIN_MEMBER = /^[^.[\]"]+$/u;

/** Returns a path as text, such as `spec.tools[0].workload`. A member with a dot, bracket or quote is written `["a.b"]`. */
export const pathText = (steps: Steps): string =>
  steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    if (!PLAIN_MEMBER.test(step)) return `${path}[${JSON.stringify(step)}]`;
    return path === '' ? step : `${path}.${step}`;
  }, '');

/** Returns the steps of a JSON Pointer. A number is an index only in a list. */
export function pointerSteps(root: unknown, pointer: string): Steps {
  let node = root;
  return pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const step = Array.isArray(node) ? Number(name) : name;
      node = typeof node === 'object' && node !== null ? (node as Record<string | number, unknown>)[step] : undefined;
      return step;
    });
}

/** Returns every value in `root` at the path of a rule. `[]` is each item of a list, `{}` each value of a map. */
export function places(root: unknown, path: string): { steps: Steps; value: unknown }[] {
  const parts = path.match(/[^.[\]{}]+|\[\]|\{\}/gu) ?? [];
  let found: { steps: Steps; value: unknown }[] = [{ steps: [], value: root }];
  for (const part of parts) found = found.flatMap((place) => below(place, part));
  return found;
}

function below({ steps, value }: { steps: Steps; value: unknown }, part: string): { steps: Steps; value: unknown }[] {
  if (typeof value !== 'object' || value === null) return [];
  if (part === '[]') {
    return Array.isArray(value) ? value.map((item: unknown, i) => ({ steps: [...steps, i], value: item })) : [];
  }
  if (Array.isArray(value)) return [];
  return Object.entries(value)
    .filter(([name, member]) => member !== undefined && (part === '{}' || name === part))
    .map(([name, member]) => ({ steps: [...steps, name], value: member as unknown }));
}
