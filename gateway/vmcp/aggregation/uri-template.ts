interface Variable {
  /** Text before the first value of the expression, and before each later value. */
  readonly first: string;
  readonly later: string;
  /** Text of a defined variable with an empty value (`;name`); undefined for other operators. */
  readonly bare: string | undefined;
  readonly excluded: string;
  /** Longest value in characters (`:N`). A percent-encoded triplet counts as one. */
  readonly most: number;
}

type Part =
  | { readonly type: 'literal'; readonly text: string }
  | {
      readonly type: 'expression';
      readonly variables: readonly Variable[];
      /** True when the expression may expand to nothing, because its variables are undefined. */
      readonly optional: boolean;
    };

/** A parsed RFC 6570 template for matching URIs. */
export interface UriTemplate {
  readonly text: string;
  /** Literal text that every expansion starts and ends with. */
  readonly start: string;
  readonly end: string;
  readonly parts: readonly Part[];
  readonly variableCount: number;
  /** Sum of all `:N`. */
  readonly prefixSum: number;
}

interface Operator {
  readonly first: string;
  readonly separator: string;
  readonly named: boolean;
  readonly optional: boolean;
  /** Characters that end a value. Fewer than in RFC 6570, because clients do not always percent-encode. */
  readonly excluded: string;
}

const SIMPLE: Operator = { first: '', separator: ',', named: false, optional: false, excluded: '/?#' };
/** @see RFC 6570 sections 3.2.2 to 3.2.9 */
const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ['+', { ...SIMPLE, excluded: '' }],
  ['#', { ...SIMPLE, first: '#', optional: true, excluded: '' }],
  ['.', { ...SIMPLE, first: '.', separator: '.', optional: true }],
  ['/', { ...SIMPLE, first: '/', separator: '/', optional: true }],
  [';', { first: ';', separator: ';', named: true, optional: true, excluded: ';/?#' }],
  ['?', { first: '?', separator: '&', named: true, optional: true, excluded: '&#' }],
  ['&', { first: '&', separator: '&', named: true, optional: true, excluded: '&#' }],
]);
const VARIABLE = /^((?:[\w.-]|%[0-9A-Fa-f]{2})+)(?:(\*)|:([1-9]\d{0,3}))?$/;

/**
 * Returns undefined for an invalid template (RFC 6570 section 2): unbalanced braces, an unknown operator or variable
 * name.
 */
export function parseUriTemplate(text: string): UriTemplate | undefined {
  const parts: Part[] = [];
  let variableCount = 0;
  let prefixSum = 0;
  for (const [piece] of text.matchAll(/\{[^{}]*\}|[^{}]+|[{}]/g)) {
    if (piece === '{' || piece === '}') return undefined;
    if (!piece.startsWith('{')) {
      parts.push({ type: 'literal', text: piece });
      continue;
    }
    const expression = parseExpression(piece.slice(1, -1));
    if (!expression) return undefined;
    parts.push(expression.part);
    variableCount += expression.part.variables.length;
    prefixSum += expression.prefixSum;
  }
  const edge = (part: Part | undefined) => (part?.type === 'literal' ? part.text : '');
  return { text, start: edge(parts[0]), end: edge(parts.at(-1)), parts, variableCount, prefixSum };
}

function parseExpression(body: string) {
  const operator = OPERATORS.get(body.charAt(0));
  const variables: Variable[] = [];
  let prefixSum = 0;
  for (const spec of (operator ? body.slice(1) : body).split(',')) {
    const [, name, exploded, limit] = VARIABLE.exec(spec) ?? [];
    if (name === undefined) return undefined;
    variables.push(variable(operator ?? SIMPLE, name, exploded !== undefined, limit));
    prefixSum += Number(limit ?? 0);
  }
  return { part: { type: 'expression', variables, optional: (operator ?? SIMPLE).optional } as const, prefixSum };
}

function variable(
  { first, separator, named, excluded }: Operator,
  name: string,
  exploded: boolean,
  limit?: string,
): Variable {
  const label = named && !exploded ? `${name}=` : '';
  return {
    first: first + label,
    later: separator + label,
    bare: separator === ';' && !exploded ? `;${name}` : undefined,
    excluded: exploded ? excluded.replace(separator, '') : excluded,
    most: limit === undefined ? Infinity : Number(limit),
  };
}

/** Returns true when `uri` has the literal text at both ends of `template`. Cheap, and false for nearly all pairs. */
export const mayMatch = ({ start, end }: UriTemplate, uri: string): boolean =>
  uri.startsWith(start) && uri.endsWith(end);

/** One entry per offset of the URI and one after its end: 1 = the parts so far can end here. */
type Reach = Uint8Array;

/**
 * Returns true when `uri` can be an expansion of `template`. All alternatives advance together, so the time is the
 * length of the URI x the number of variables for any template.
 */
export function matchesTemplate(template: UriTemplate, uri: string): boolean {
  if (!mayMatch(template, uri)) return false;
  const ordinals = template.prefixSum === 0 ? undefined : characterOrdinals(uri);
  let reach: Reach = new Uint8Array(uri.length + 1);
  reach[0] = 1;
  for (const part of template.parts) {
    if (part.type === 'literal') {
      reach = afterLiteral(uri, reach, part.text);
      continue;
    }
    let some: Reach = new Uint8Array(uri.length + 1);
    for (const each of part.variables) some = union(some, afterVariable(uri, ordinals, reach, some, each));
    reach = part.optional ? union(reach, some) : some;
  }
  return reach[uri.length] === 1;
}

/** Marks where `each` can end, as the first defined variable (`none` before it) or a later one (`some` before it). */
function afterVariable(
  uri: string,
  ordinals: Uint32Array | undefined,
  none: Reach,
  some: Reach,
  each: Variable,
): Reach {
  const begun = union(afterLiteral(uri, none, each.first), afterLiteral(uri, some, each.later));
  const ended = afterValue(uri, ordinals, begun, each);
  return each.bare === undefined ? ended : union(ended, afterLiteral(uri, union(none, some), each.bare));
}

function afterLiteral(uri: string, reach: Reach, text: string): Reach {
  if (text === '') return reach;
  const next = new Uint8Array(reach.length);
  for (let at = uri.indexOf(text); at !== -1; at = uri.indexOf(text, at + 1)) next[at + text.length] = reach[at] ?? 0;
  return next;
}

/** Only the nearest start matters: when a value from there is too long, one from an earlier start is longer. */
function afterValue(uri: string, ordinals: Uint32Array | undefined, reach: Reach, each: Variable): Reach {
  const mayBeEmpty = each.first !== '';
  const stops = stopsIn(uri, each.excluded);
  const next = new Uint8Array(reach.length);
  let start = -1;
  for (let at = 0; at < reach.length; at += 1) {
    if (mayBeEmpty && reach[at] === 1) start = at;
    if (start !== -1 && isWithin(ordinals, start, at, each.most)) next[at] = 1;
    if (!mayBeEmpty && reach[at] === 1) start = at;
    if (stops?.[at] === 1) start = -1;
  }
  return next;
}

const isWithin = (ordinals: Uint32Array | undefined, start: number, end: number, most: number): boolean =>
  ordinals === undefined || (ordinals[end] ?? 0) - (ordinals[start] ?? 0) <= most;

/** Marks each character of `excluded` with 1; undefined when there is none. */
function stopsIn(uri: string, excluded: string): Uint8Array | undefined {
  let stops: Uint8Array | undefined;
  for (const character of excluded) {
    for (let at = uri.indexOf(character); at !== -1; at = uri.indexOf(character, at + 1)) {
      stops ??= new Uint8Array(uri.length);
      stops[at] = 1;
    }
  }
  return stops;
}

function union(left: Reach, right: Reach): Reach {
  const both = new Uint8Array(left);
  for (let at = 0; at < both.length; at += 1) if (right[at] === 1) both[at] = 1;
  return both;
}

/**
 * Returns for each offset the number of characters before it; a percent-encoded triplet is one (RFC 6570 section
 * 2.4.1).
 */
function characterOrdinals(uri: string): Uint32Array {
  const ordinals = new Uint32Array(uri.length + 1);
  let tripletEnd = 0;
  for (let at = 0; at < uri.length; at += 1) {
    const inside = at < tripletEnd;
    if (!inside && /^%[0-9A-Fa-f]{2}/.test(uri.slice(at, at + 3))) tripletEnd = at + 3;
    ordinals[at + 1] = (ordinals[at] ?? 0) + (inside ? 0 : 1);
  }
  return ordinals;
}
