import { isObject } from '../contract/json.ts';
import { memberOf, type Span } from '../http/json-walk.ts';
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
  const headers: ToolHeader[] = [];
  return addHeaders(headers, inputSchema, []) ? headers : undefined;
}

/** Adds the declarations in a schema to which nothing but `properties` leads. Returns false for an invalid one. */
function addHeaders(headers: ToolHeader[], schema: unknown, path: readonly string[]): boolean {
  if (!isObject(schema)) return isUndeclared(schema);
  const { properties, [MARK]: name, ...others } = schema;
  if (!isUndeclared(others)) return false;
  if (name !== undefined) {
    if (path.length === 0 || typeof name !== 'string' || !TOKEN.test(name) || !TYPES.includes(schema['type']))
      return false;
    const header = `mcp-param-${name.toLowerCase()}`;
    if (headers.some((other) => other.header === header)) return false;
    headers.push({ header, path });
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

/** Returns the arguments at `args`. */
const valuesAt = (text: Buffer, args: Span | undefined): unknown =>
  args && JSON.parse(text.toString('utf8', args.start, args.end));

/** Returns the value to which the path leads; undefined for none. */
const valueOf = (values: unknown, path: readonly string[]): unknown =>
  path.reduce((object, key) => (isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined), values);

/** Returns a flat list of the headers of a call. `params` is the JSON text of an object. */
export function paramHeaders(tool: Buffer, params: Buffer): string[] {
  const headers = toolHeadersOf(tool);
  if (headers.length === 0) return [];
  const values = valuesAt(params, memberOf(params, { start: 0, end: params.length }, 'arguments'));
  return headers.flatMap(({ header, path }) => {
    const value = textOf(valueOf(values, path));
    return value === undefined ? [] : [header, encodeHeaderValue(value)];
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
  const values = valuesAt(text, args);
  return declared.find(({ header, path }) => {
    const value = valueOf(values, path);
    const sent = headers[header];
    if (sent === undefined) return isModern && textOf(value) !== undefined;
    return typeof sent !== 'string' || !isEqual(decodeHeaderValue(sent), value);
  })?.header;
}

/** Compares integers as numbers. */
const isEqual = (sent: string | undefined, value: unknown): boolean =>
  sent !== undefined &&
  (sent === textOf(value) || (typeof value === 'number' && INTEGER.test(sent) && Number(sent) === value));
