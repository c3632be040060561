/** Token of a pattern: any number of items, or a single item that fits. */
type Token<Item> = 'any' | ((item: Item) => boolean);

/** Line of an ignore file. */
export interface IgnoreRule {
  /** True for `!PATTERN`, which shows again what an earlier rule hides. */
  readonly isNegated: boolean;
  /** True for `PATTERN/`, which fits folders only. */
  readonly isForFolders: boolean;
  readonly path: readonly Token<string>[];
}

/**
 * Parses an ignore file in the syntax of git: `#` comments, `!`, a `/` at the end for folders, a `/` at the beginning or within for
 * paths from the mounted folder, `*`, `?`, `[a-z]` and `**`.
 */
export const parseIgnoreFile = (text: string): IgnoreRule[] =>
  text
    .replace(/^\uFEFF/u, '')
    .split(/\r?\n/u)
    .map(withoutSpacesAtEnd)
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => ruleOf(line) ?? []);

/** A backslash keeps a space at the end of a line. */
function withoutSpacesAtEnd(line: string): string {
  const text = line.trimEnd();
  return text.endsWith('\\') && text !== line ? `${text} ` : text;
}

function ruleOf(line: string): IgnoreRule | undefined {
  const isNegated = line.startsWith('!');
  const pattern = isNegated ? line.slice(1) : line;
  const isForFolders = pattern.endsWith('/');
  const parts = pattern.split('/').filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  const isAnchored = pattern.replace(/\/$/u, '').includes('/');
  const path = parts.flatMap((part, index): Token<string>[] => {
    if (part !== '**') return [fitsName(tokensOf(part))];
    // At the end it stands for what is in a folder, not for the folder itself.
    return index === parts.length - 1 ? [() => true, 'any'] : ['any'];
  });
  return { isNegated, isForFolders, path: isAnchored ? path : ['any', ...path] };
}

const fitsName =
  (tokens: readonly Token<string>[]) =>
  (name: string): boolean =>
    fits(tokens, Array.from(name));

/** Reads the wildcards of a name. A bracket without an end stands for itself. */
function tokensOf(pattern: string): Token<string>[] {
  const tokens: Token<string>[] = [];
  for (const [text, escaped, negation, set] of pattern.matchAll(/\\(.)|\[([!^]?)(\]?[^\]]{0,100})\]|[^]/gsu)) {
    if (text === '*') tokens.push('any');
    else if (text === '?') tokens.push(() => true);
    else if (set !== undefined && set !== '') tokens.push(oneOf(set, negation !== ''));
    else for (const letter of escaped ?? text) tokens.push((item) => item === letter);
  }
  return tokens;
}

/** Returns a test for the letters and ranges of a set, such as `a-z_`. */
function oneOf(set: string, isNegated: boolean): (item: string) => boolean {
  const ranges = [...set.matchAll(/([^])-([^])|[^]/gu)].map(([one, from = one, to = one]) => [from, to] as const);
  return (item) => ranges.some(([from, to]) => from <= item && item <= to) !== isNegated;
}

/** Compares items with tokens. It returns to the last `any` only, so that its time is the product of both lengths at most. */
function fits<Item>(tokens: readonly Token<Item>[], items: readonly Item[]): boolean {
  let [token, item, lastAny, resumeAt] = [0, 0, -1, 0];
  while (item < items.length) {
    const expected = tokens[token];
    if (expected === 'any') {
      [lastAny, resumeAt] = [token, item];
      token += 1;
    } else if (expected?.(items[item] as Item) === true) {
      token += 1;
      item += 1;
    } else if (lastAny === -1) return false;
    else {
      resumeAt += 1;
      [token, item] = [lastAny + 1, resumeAt];
    }
  }
  return tokens.slice(token).every((rest) => rest === 'any');
}

/** Returns true for a path that the rules hide. The last rule that fits decides. `path` has the names from the mounted folder on. */
export function isHidden(rules: readonly IgnoreRule[], path: readonly string[], isFolder: boolean): boolean {
  const last = rules.findLast((rule) => (isFolder || !rule.isForFolders) && fits(rule.path, path));
  return last !== undefined && !last.isNegated;
}
