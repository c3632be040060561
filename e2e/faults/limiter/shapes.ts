/** Part of a request that a shape fills. JSON shapes are values; each endpoint has a place for them in its body. */
type Part = 'query' | 'headers' | 'form' | 'json';

export const PARTS: readonly Part[] = ['query', 'headers', 'form', 'json'];

/** A cheap text in the most pieces: as many names, values, levels or separators as fit into some bytes. */
export interface Shape {
  readonly name: string;
  readonly part: Part;
  /** Returns about `bytes` of text; header lines for `headers`. */
  readonly text: (bytes: number) => string;
}

const times = (piece: string, bytes: number): string => piece.repeat(Math.floor(bytes / piece.length));
const between = (bytes: number, piece: string, open = '', close = ''): string =>
  `${open}${times(`${piece},`, bytes)}${piece}${close}`;

/** Distinct names of about four characters, each as `piece` writes it. */
function names(bytes: number, piece: (name: string) => string, separator: string): string {
  const length = piece('nnnn').length + separator.length;
  return Array.from({ length: Math.floor(bytes / length) }, (_, index) => piece(index.toString(36))).join(separator);
}

const PAIRS: readonly [name: string, text: Shape['text']][] = [
  ['distinct names', (bytes) => names(bytes, (name) => name, '&')],
  ['one name again', (bytes) => times('a&', bytes)],
  ['known names again', (bytes) => times('resource=a&scope=b&token=c&client_id=d&state=e&', bytes)],
  ['separators', (bytes) => times('&', bytes)],
  ['one value of many words', (bytes) => `scope=${times('a+', bytes)}`],
  ['one value of escapes', (bytes) => `token=${times('%41', bytes)}`],
];

/** Header lines of one name with a value of pieces. */
const header =
  (name: string, text: Shape['text']): Shape['text'] =>
  (bytes) =>
    `${name}: ${text(bytes)}`;

const HEADERS: readonly [name: string, text: Shape['text']][] = [
  ['as many headers as Node.js accepts', (bytes) => names(Math.min(bytes, 8_000), (name) => `${name}: 1`, '\r\n')],
  ['more headers', (bytes) => names(bytes, (name) => `${name}: 1`, '\r\n')],
  ['one header again', (bytes) => times('cookie: a\r\n', Math.min(bytes, 9_000)).trimEnd()],
  ['cookies', header('cookie', (bytes) => times('vmcp-flow-a=b;', bytes))],
  ['separators of cookies', header('cookie', (bytes) => times(';', bytes))],
  ['media types', header('accept', (bytes) => times('a/b,', bytes))],
  ['addresses', header('x-forwarded-for', (bytes) => times('::1,', bytes))],
  ['names of headers', header('access-control-request-headers', (bytes) => times('a,', bytes))],
  ['a token of dots', header('authorization', (bytes) => `Bearer ${times('.', bytes)}`)],
  ['a token', header('authorization', (bytes) => `Bearer ${times('a', bytes / 3)}.${times('a', bytes / 2)}.a`)],
  ['credentials', header('authorization', (bytes) => `Basic ${times('Og==', bytes).replaceAll('=', 'g')}`)],
  ['spaces', header('authorization', (bytes) => `Basic${times(' ', bytes)}x`)],
  ['media type parameters', header('content-type', (bytes) => `application/json${times(';a', bytes)}`)],
];

const VALUES: readonly [name: string, text: Shape['text']][] = [
  ['distinct names', (bytes) => `{${names(bytes, (name) => `"${name}":1`, ',')}}`],
  ['one name again', (bytes) => between(bytes, '"a":1', '{', '}')],
  ['names with escapes', (bytes) => between(bytes, String.raw`"\u0061":1`, '{', '}')],
  ['numbers that doubles round', (bytes) => between(bytes, '1.0', '[', ']')],
  ['empty objects', (bytes) => between(bytes, '{}', '[', ']')],
  ['texts', (bytes) => between(bytes, '""', '[', ']')],
  ['levels of lists', (bytes) => times('[', bytes / 2) + times(']', bytes / 2)],
  ['levels of objects', (bytes) => times('{"":', bytes / 2) + times('}', bytes / 2)],
  ['many values of 150 levels', (bytes) => between(bytes, '['.repeat(150) + ']'.repeat(150), '[', ']')],
  ['a text of escapes', (bytes) => `"${times(String.raw`\"`, bytes)}"`],
  ['a text that does not end', (bytes) => `"${times(',{', bytes)}`],
];

const of = (part: Part, all: readonly (readonly [string, Shape['text']])[]): Shape[] =>
  all.map(([name, text]) => ({ name: `${part} of ${name}`, part, text }));

/** Forms of attack. A new one is one line above. */
export const SHAPES: readonly Shape[] = [
  ...of('query', PAIRS),
  ...of('headers', HEADERS),
  ...of('form', PAIRS),
  ...of('json', VALUES),
];
