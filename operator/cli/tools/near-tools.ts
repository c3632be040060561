import { closest } from '../../source/files/closest.ts';

const MOST = 3;

/** Returns the names that a user may have meant: those that contain the word, else the most similar one. */
export function nearTools(word: string, names: readonly string[]): string[] {
  const lower = word.toLowerCase();
  const containing = names.filter((name) => name.toLowerCase().includes(lower));
  if (containing.length > 0) return containing.toSorted((a, b) => a.length - b.length).slice(0, MOST);
  const unprefixed = new Map(names.map((name) => [name.slice(name.indexOf('_') + 1), name]));
  const similar = closest(word, names) ?? unprefixed.get(closest(word, [...unprefixed.keys()]) ?? '');
  return similar === undefined ? [] : [similar];
}
