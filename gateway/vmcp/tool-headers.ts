import { isObject } from '../contract/json.ts';
import { isArraySpan, isObjectSpan, memberOf, membersNamed, type Span } from '../http/json-walk.ts';
import { decodeHeaderValue, encodeHeaderValue } from './header-value.ts';

/** An argument of a tool that a header repeats. @see MCP 2026-07-28, basic/transports/streamable-http, Schema Extension */
interface ToolHeader {
  /** Lower-case name of the header. */
  readonly header: string;
  /** Keys that lead to the argument: more than one for a property of an object. */
  readonly path: readonly string[];
}

const MARK = 'x-mcp-header';
const MARK_BYTES = Buffer.from(`"${MARK}"`);
/** @see RFC 9110 §5.6.2 */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/u;
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];
/** An integer as some clients write it: `42`, and `42.0`. */
const INTEGER = /^-?(?:0|[1-9][0-9]{0,15})(?:\.0{1,16})?$/u;

/** Headers by tool. A tool is the JSON text of a list item, the same object as long as the list is the same. */
const KNOWN = new WeakMap<Buffer, readonly ToolHeader[]>();
const NONE: readonly ToolHeader[] = [];

/** Returns the headers that repeat arguments of a tool. Those of an invalid declaration are none. */
export function toolHeadersOf(tool: Buffer): readonly ToolHeader[] {
  let headers = KNOWN.get(tool);
  if (!headers) {
    headers = tool.includes(MARK_BYTES) ? (readToolHeaders(tool) ?? NONE) : NONE;
    KNOWN.set(tool, headers);
  }
  return headers;
}

/** Returns false for a tool whose declaration of headers is invalid: it must not be called. */
export const hasValidHeaders = (tool: Buffer): boolean =>
  !tool.includes(MARK_BYTES) || readToolHeaders(tool) !== undefined;

/** Returns undefined for an invalid declaration: of a wrong type or place, repeated, or with a name that no header has. */
function readToolHeaders(tool: Buffer): readonly ToolHeader[] | undefined {
  const { inputSchema } = JSON.parse(tool.toString()) as { readonly inputSchema?: unknown };
  const headers = new Map<string, ToolHeader>();
  return addHeaders(headers, inputSchema, []) ? [...headers.values()] : undefined;
}

/** Adds the declarations in a schema to which nothing but `properties` leads. Returns false for an invalid one. */
function addHeaders(headers: Map<string, ToolHeader>, schema: unknown, path: readonly string[]): boolean {
  if (!isObject(schema)) return isUndeclared(schema);
  const { properties, [MARK]: name, ...others } = schema;
  if (!isUndeclared(others)) return false;
  if (name !== undefined) {
    if (path.length === 0 || typeof name !== 'string' || !TOKEN.test(name) || !TYPES.includes(schema['type']))
      return false;
    const header = `mcp-param-${name.toLowerCase()}`;
    if (headers.has(header)) return false;
    headers.set(header, { header, path });
  }
  if (!isObject(properties)) return isUndeclared(properties);
  return Object.entries(properties).every(([key, property]) => addHeaders(headers, property, [...path, key]));
}

/** Returns true for a part of a schema without declarations in it. */
const isUndeclared = (part: unknown): boolean => part === undefined || !JSON.stringify(part).includes(`"${MARK}":`);

/** Returns the text of an argument as a header carries it; undefined for one that no header carries. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Values of the arguments that headers repeat. */
type Values = Map<ToolHeader, unknown>;

/** Adds the arguments in the object at `args` that `headers` repeat. It reads no others: a client chooses how many there are. */
function readValues(
  text: Buffer,
  args: Span | undefined,
  headers: readonly ToolHeader[],
  depth = 0,
  values: Values = new Map(),
): Values {
  if (!args || !isObjectSpan(text, args)) return values;
  const byKey = Map.groupBy(headers, ({ path }) => path[depth] ?? '');
  for (const [key, span] of membersNamed(text, args, byKey)) {
    const under = (byKey.get(key) ?? []).filter((header) => {
      const isHere = header.path.length === depth + 1;
      if (isHere) values.set(header, scalarAt(text, span));
      return !isHere;
    });
    if (under.length > 0) readValues(text, span, under, depth + 1, values);
  }
  return values;
}

/** Returns the text, number or boolean at `span`; undefined for another value, which no header carries. */
const scalarAt = (text: Buffer, span: Span): unknown =>
  isObjectSpan(text, span) || isArraySpan(text, span)
    ? undefined
    : JSON.parse(text.toString('utf8', span.start, span.end));

/** Returns a flat list of the headers of a call. `params` is the JSON text of an object. */
export function paramHeaders(tool: Buffer, params: Buffer): string[] {
  const headers = toolHeadersOf(tool);
  if (headers.length === 0) return [];
  const values = readValues(params, memberOf(params, { start: 0, end: params.length }, 'arguments'), headers);
  return headers.flatMap((declared) => {
    const value = textOf(values.get(declared));
    return value === undefined ? [] : [declared.header, encodeHeaderValue(value)];
  });
}

/**
 * Returns the name of a header that contradicts its argument in the object at `args`, or has none. `isModern` is true for a
 * request of the revision that has these headers: it must have one for each argument that a header can carry.
 */
export function wrongParamHeader(
  tool: Buffer,
  text: Buffer,
  args: Span | undefined,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  isModern: boolean,
): string | undefined {
  const declared = toolHeadersOf(tool);
  if (declared.length === 0) return undefined;
  const values = readValues(text, args, declared);
  return declared.find((each) => {
    const value = values.get(each);
    const sent = headers[each.header];
    if (sent === undefined) return isModern && textOf(value) !== undefined;
    return typeof sent !== 'string' || !isEqual(decodeHeaderValue(sent), value);
  })?.header;
}

/** Compares integers as numbers. */
const isEqual = (sent: string | undefined, value: unknown): boolean =>
  sent !== undefined &&
  (sent === textOf(value) || (typeof value === 'number' && INTEGER.test(sent) && Number(sent) === value));
