import { INSTRUCTIONS_LENGTH, type Aggregation } from '../../contract/aggregation/aggregation.ts';
import type { Catalog } from './catalog.ts';
import type { Instructions } from './view.ts';
import { quote, type WarningCollector } from './warnings.ts';

const CUT = '…';

/**
 * Merges the instructions of `backends`; `names` are those of all backends. Together they have at most the configured length: those
 * that are shorter than an equal share leave the rest to the others, and those that are longer are cut, with a warning.
 */
export function mergeInstructions(
  backends: readonly Catalog[],
  names: ReadonlySet<string>,
  { instructions: settings, conflict_resolution: strategy }: Aggregation,
  warnings: WarningCollector,
): Instructions {
  if (settings?.enabled === false) return NONE;
  const total = settings?.max_length ?? INSTRUCTIONS_LENGTH.default;
  const given = backends.flatMap(({ backend, instructions = '' }): [string, string][] => {
    const start = instructions.trimStart().slice(0, total + 1); // no share is longer
    const text = withoutNames(start.toWellFormed().trimEnd(), names);
    return text === '' ? [] : [[backend, text]];
  });
  const share = fairShare(
    given.map(([, { length }]) => length),
    total,
  );
  const texts = given.map(([backend, text]): [string, string] => {
    if (text.length <= share) return [backend, text];
    const message = `the instructions of ${quote(backend)} are cut after ${String(share)} characters`;
    warnings.add('InstructionsCut', backend, message);
    return [backend, cut(text, share)];
  });
  // the only server behind a proxy needs no name
  const isAlone = strategy === 'none' && names.size === 1;
  return instructionsOf(new Map(texts), isAlone);
}

/** Lowers a line that looks like the heading of a backend by a level: no backend speaks for another backend. */
function withoutNames(text: string, names: ReadonlySet<string>): string {
  const lines = text.split('\n').map((line) => {
    const [indent = '', heading = ''] = line.split('#', 2);
    return indent.trim() === '' && names.has(heading.trim()) ? `#${line.trimStart()}` : line;
  });
  return lines.join('\n');
}

function cut(text: string, length: number): string {
  const head = text.slice(0, Math.max(0, length - CUT.length));
  return (head.isWellFormed() ? head : head.slice(0, -1)) + CUT;
}

const NONE: Instructions = { texts: new Map(), merged: undefined };

/** Returns the instructions of those backends for which `isShown` is true. */
export function shownInstructions(all: Instructions, isShown: (backend: string) => boolean): Instructions {
  const texts = [...all.texts].filter(([backend]) => isShown(backend));
  return texts.length === all.texts.size ? all : instructionsOf(new Map(texts), false);
}

function instructionsOf(texts: ReadonlyMap<string, string>, isAlone: boolean): Instructions {
  if (texts.size === 0) return NONE;
  const parts = [...texts].map(([backend, text]) => (isAlone ? text : `# ${backend}\n\n${text}`));
  return { texts, merged: parts.join('\n\n') };
}

/** Returns the length that each text may have so that all together have at most `total`. */
function fairShare(lengths: readonly number[], total: number): number {
  let rest = total;
  const ascending = lengths.toSorted((one, other) => one - other);
  for (const [index, length] of ascending.entries()) {
    const share = Math.floor(rest / (ascending.length - index));
    if (length > share) return share;
    rest -= length;
  }
  return total;
}
