type Path = readonly (string | number)[];
type Change = readonly [name: string, change: (value: unknown) => unknown];

/** A copy of an object with one change, and the description of the change. */
export interface Mutation<T> {
  readonly what: string;
  readonly object: T;
}

const REMOVED = Symbol('removed');
const TEXTS: readonly Change[] = [
  ['empty', () => ''],
  ['blank before', (value) => ` ${String(value)}`],
  ['upper case', (value) => String(value).toUpperCase()],
  ['of 5,000 characters', () => 'a'.repeat(5_000)],
  ['with NUL', (value) => `${String(value)}\0`],
  ['with a line end', (value) => `${String(value)}\n`],
  ['not ASCII', (value) => `${String(value)}é😀`],
  ['dot behind', (value) => `${String(value)}.`],
  ['dash behind', (value) => `${String(value)}-`],
  ['slash behind', (value) => `${String(value)}/`],
  ['query and fragment', (value) => `${String(value)}?a#b`],
  ['file URL', () => 'file:///etc'],
  ['broken URL', () => 'http://[::1'],
  ['plain http', () => 'http://example.com'],
  ['URL with a password', () => 'https://user:word@example.com/'],
  ['URL with a port too high', () => 'https://example.com:99999'],
  ['0s', () => '0s'],
  ['100000h', () => '100000h'],
  ['1.5h30m', () => '1.5h30m'],
  ['-1s', () => '-1s'],
  ['a number', () => 1],
];
const NUMBERS: readonly Change[] = [
  ['-1', () => -1],
  ['0', () => 0],
  ['2^31', () => 2 ** 31],
  ['a fraction', () => 1.5],
  ['text', () => '1'],
];
const BOOLEANS: readonly Change[] = [
  ['the other', (value) => value !== true],
  ['text', () => 'true'],
];
const LISTS: readonly Change[] = [
  ['empty', () => []],
  ['twice itself', (value) => [...(value as unknown[]), ...structuredClone(value as unknown[])]],
  [
    'of 200 items',
    (value) =>
      Array.from({ length: 200 }, (_, index) =>
        structuredClone((value as unknown[])[index % (value as unknown[]).length]),
      ),
  ],
  ['an object', () => ({})],
];
const OBJECTS: readonly Change[] = [
  ['empty', () => ({})],
  ['text', () => 'x'],
  ['a list', () => []],
  ['with an unknown member', (value) => ({ ...(value as object), zzz: 1 })],
];

function changesOf(value: unknown): readonly Change[] {
  const removal: Change = ['removed', () => REMOVED];
  if (typeof value === 'string') return [removal, ...TEXTS];
  if (typeof value === 'number') return [removal, ...NUMBERS];
  if (typeof value === 'boolean') return [removal, ...BOOLEANS];
  return [removal, ...(Array.isArray(value) ? LISTS : OBJECTS)];
}

/** Yields every path below `value`; of a list only the first item. */
function* places(value: unknown, path: Path = []): Generator<readonly [path: Path, value: unknown]> {
  if (path.length > 0) yield [path, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value))
    if (!Array.isArray(value) || name === '0') yield* places(member, [...path, Array.isArray(value) ? 0 : name]);
}

function changed<T>(object: T, path: Path, value: unknown): T {
  const copy = structuredClone(object);
  const parent = path.slice(0, -1).reduce<unknown>((node, step) => (node as Record<string, unknown>)[step], copy);
  const last = path.at(-1) ?? '';
  if (value !== REMOVED) (parent as Record<string, unknown>)[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else Reflect.deleteProperty(parent as object, last);
  return copy;
}

/** Yields copies of an object with one change each, at the paths that `isWanted` accepts. */
export function* mutations<T>(object: T, isWanted: (path: string) => boolean): Generator<Mutation<T>> {
  for (const [path, value] of places(object)) {
    if (!isWanted(path.join('.'))) continue;
    for (const [name, change] of changesOf(value))
      yield { what: `${path.join('.')}: ${name}`, object: changed(object, path, change(structuredClone(value))) };
  }
}
