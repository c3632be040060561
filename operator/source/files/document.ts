import {
  LineCounter,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseAllDocuments,
  visit,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
  type ErrorCode,
} from 'yaml';
import { pathText } from '../../../crds/kinds/schema/object-path.ts';
import type { FieldPath } from '../../resolve/fields/field-path.ts';
import { DOCUMENT, type LocatedProblem, type Position } from './located.ts';

const MAX_ALIASES = 100;

/** YAML document of a file: its plain value and the positions of its parts. */
export interface ManifestDocument {
  readonly value: unknown;
  /** Returns the position of a path, or of its longest existing prefix: of the key in a map, of the item in a list. */
  locate(path: FieldPath): Position;
}

export interface ParsedText {
  readonly documents: readonly ManifestDocument[];
  readonly problems: readonly LocatedProblem[];
}

type PositionAt = (offset: number) => Position;

/** Parses the text of a manifest, YAML or JSON. Each invalid document becomes one problem; the others are returned. */
export function parseDocuments(file: string, text: string): ParsedText {
  const lines = new LineCounter();
  const positionAt: PositionAt = (offset) => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const parsed = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
    stringKeys: true,
    uniqueKeys: false, // quadratic in the library, and without the name of the key: see duplicateKeys
    logLevel: 'silent',
  });
  if ('empty' in parsed) return { documents: [], problems: [] };
  const read = parsed.map((document, index) => readDocument(document, index + 1, positionAt));
  return {
    documents: read.flatMap(({ document }) => document ?? []),
    problems: read.flatMap(({ problems }) => problems),
  };
}

function readDocument(
  document: Document.Parsed,
  number: number,
  positionAt: PositionAt,
): { document?: ManifestDocument; problems: LocatedProblem[] } {
  const problem = (offset: number, path: string, reason: string, message: string): LocatedProblem => ({
    ...positionAt(offset),
    kind: DOCUMENT,
    namespace: '',
    name: String(number),
    path,
    reason,
    message,
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error) return { problems: [problem(error.pos[0], '-', 'InvalidYAML', syntaxMessage(error.code))] };
  const start = document.contents?.range[0] ?? document.range[0];
  const problems = duplicateKeys(document).map(({ path, offset, first }) =>
    problem(
      offset,
      pathText(path),
      'DuplicateKey',
      `duplicate key, first used in line ${String(positionAt(first).line)}: keep one of them`,
    ),
  );
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    if (value === null) return { problems };
    return { document: { value, locate: (path) => positionAt(offsetOf(document, path) ?? start) }, problems };
  } catch (failure) {
    const unresolved = failure instanceof ReferenceError && failure.message.startsWith('Unresolved alias');
    const [reason, message] = unresolved
      ? ['InvalidYAML', 'an alias (*name) has no anchor (&name) before it: define the anchor, or write the value out']
      : ['TooManyAliases', `aliases expand to too much: use at most ${String(MAX_ALIASES)}, or write the values out`];
    return { problems: [...problems, problem(start, '-', reason, message)] };
  }
}

interface DuplicateKey {
  readonly path: FieldPath;
  readonly offset: number;
  /** Offset of the first occurrence. */
  readonly first: number;
}

function duplicateKeys(document: Document.Parsed): DuplicateKey[] {
  const found: DuplicateKey[] = [];
  visit(document, {
    Map(_key, map, ancestors) {
      const firsts = new Map<string, number>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const offset = key.range?.[0] ?? 0;
        const name = String(key.value);
        const first = firsts.get(name);
        if (first === undefined) firsts.set(name, offset);
        else found.push({ path: [...pathTo(ancestors, map), name], offset, first });
      }
    },
  });
  return found;
}

type Ancestor = Document | Node | Pair;

function pathTo(ancestors: readonly Ancestor[], node: Node): FieldPath {
  const chain: readonly Ancestor[] = [...ancestors, node];
  return chain.flatMap((ancestor, index) => {
    const next = chain[index + 1];
    if (isSeq(ancestor)) return ancestor.items.indexOf(next);
    if (isMap(ancestor) && next !== undefined && 'key' in next) return isScalar(next.key) ? String(next.key.value) : [];
    return [];
  });
}

function offsetOf(document: Document.Parsed, path: FieldPath): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const step of path) {
    const container: unknown = isAlias(node) ? node.resolve(document) : node;
    if (isMap(container)) {
      const pair = findPair(document, container, String(step));
      if (!pair) break;
      offset = isScalar(pair.key) ? pair.key.range?.[0] : offset;
      node = pair.value;
    } else if (isSeq(container) && typeof step === 'number' && step < container.items.length) {
      node = container.items[step];
      offset = (node as Node | null)?.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}

/** Returns the pair of a key in the map itself or in a map that it merges with `<<`. */
function findPair(document: Document.Parsed, map: YAMLMap, name: string): Pair | undefined {
  const own = map.items.findLast(({ key }) => isScalar(key) && String(key.value) === name);
  if (own) return own;
  for (const { key, value } of map.items) {
    if (!isScalar(key) || key.value !== '<<') continue;
    for (const source of isSeq(value) ? value.items : [value]) {
      const target: unknown = isAlias(source) ? source.resolve(document) : source;
      const merged = isMap(target) ? findPair(document, target, name) : undefined;
      if (merged) return merged;
    }
  }
  return undefined;
}

/** Message for each kind of syntax error. Messages of the parser are not used: they may quote secrets from the file. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  ALIAS_PROPS: 'an alias (*name) takes no tag or anchor: remove it',
  BAD_ALIAS: 'an anchor or alias has no proper name: write &name and *name',
  BAD_COLLECTION_TYPE: 'the tag does not fit a map or list: remove it',
  BAD_DIRECTIVE: 'unknown YAML directive: remove the line that starts with %',
  BAD_DQ_ESCAPE: 'unknown escape in a double-quoted text: use single quotes, or write \\\\ for a backslash',
  BAD_INDENT: 'wrong indentation or a missing closing bracket: align this line with its neighbours',
  BAD_PROP_ORDER: 'a tag or anchor is in the wrong place: move it directly before the value',
  BAD_SCALAR_START: 'a plain text may not start with this character: put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'more than one ": " here, or a nested block in the wrong place: put text with a colon in quotes, or indent the block',
  BLOCK_IN_FLOW: 'an indented block inside [] or {}: write it inside the brackets',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters: a ":" is probably in the wrong place',
  MISSING_CHAR:
    'a character is missing: look for an unclosed quote or bracket, a missing ":" after a key, or a missing space',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines: look for a missing ":" or wrong indentation',
  MULTIPLE_ANCHORS: 'a value has two anchors: remove one',
  MULTIPLE_TAGS: 'a value has two tags: remove one',
  NON_STRING_KEY: 'a key is not a text: write keys as plain words',
  RESOURCE_EXHAUSTION: 'nested too deeply: flatten the document',
  TAB_AS_INDENT: 'a tab is used for indentation: use spaces',
  TAG_RESOLVE_FAILED: 'unknown tag (!name): remove it',
  UNEXPECTED_TOKEN: 'unexpected text: look for wrong indentation, or a list and a map mixed at one level',
};

/** Returns a message about a syntax error that quotes nothing from the file. */
const syntaxMessage = (code: ErrorCode): string =>
  MESSAGES[code] ?? 'this is not valid YAML: check quotes, brackets and indentation';
