import type { Coverage, Debugger, Place } from './debugger.ts';

/** A function of the repository that ran. */
export interface Ran {
  /** Path in the repository. */
  readonly file: string;
  readonly name: string;
  readonly scriptId: string;
  readonly start: number;
  readonly end: number;
}

/** Returns the functions below `root` that ran, without those of packages. */
export const ranBelow = (root: string, coverage: readonly Coverage[]): Ran[] =>
  coverage.flatMap(({ scriptId, url, functions }) => {
    const prefix = `file://${root}/`;
    if (!url.startsWith(prefix) || url.includes('/node_modules/')) return [];
    const file = url.slice(prefix.length);
    return functions.flatMap(({ functionName, ranges: [range] }) =>
      range && range.count > 0
        ? [{ file, name: functionName || 'anonymous', scriptId, start: range.startOffset, end: range.endOffset }]
        : [],
    );
  });

const keyOf = ({ scriptId, start, end }: Ran): string => `${scriptId} ${String(start)} ${String(end)}`;

/**
 * Returns the functions that run at every one of `calls` calls: not those of timers, probes and garbage collection, which run
 * beside some of them.
 */
export async function functionsOf(
  root: string,
  inspected: Debugger,
  call: () => Promise<void>,
  calls = 20,
): Promise<readonly Ran[]> {
  let common: readonly Ran[] | undefined;
  for (let index = 0; index < calls; index += 1) {
    await inspected.takeCoverage();
    await call();
    const ran = ranBelow(root, await inspected.takeCoverage());
    const keys = new Set(ran.map(keyOf));
    common = common ? common.filter((each) => keys.has(keyOf(each))) : ran;
  }
  return common ?? [];
}

/** Returns the functions in the order in which a further call enters them; last those without a statement of their own. */
export async function inOrder(
  inspected: Debugger,
  functions: readonly Ran[],
  call: () => Promise<void>,
): Promise<readonly Ran[]> {
  const entered = new Map<string, Ran>();
  const byBreakpoint = new Map<string, Ran>();
  const sources = new Map<string, string>();
  await inspected.enable();
  for (const each of functions) {
    const { scriptId } = each;
    const source = sources.get(scriptId) ?? (await inspected.sourceOf(scriptId));
    sources.set(scriptId, source);
    const breakpoint = await inspected.breakAt(
      placeOf(source, scriptId, each.start),
      placeOf(source, scriptId, each.end),
    );
    if (breakpoint !== undefined) byBreakpoint.set(breakpoint, each);
  }
  inspected.onBreakpoint = (id) => {
    const found = byBreakpoint.get(id);
    if (found && !entered.has(id)) entered.set(id, found);
  };
  await call();
  await inspected.disable();
  const known = new Set(entered.values());
  return [...known, ...functions.filter((each) => !known.has(each))];
}

function placeOf(source: string, scriptId: string, offset: number): Place {
  const before = source.slice(0, offset);
  const lineNumber = before.split('\n').length - 1;
  return { scriptId, lineNumber, columnNumber: offset - (before.lastIndexOf('\n') + 1) };
}

/** Returns the names of the functions by file, in the order of the functions. */
export const byFile = (functions: readonly Ran[]): ReadonlyMap<string, readonly string[]> =>
  new Map([...Map.groupBy(functions, ({ file }) => file)].map(([file, ran]) => [file, ran.map(({ name }) => name)]));
