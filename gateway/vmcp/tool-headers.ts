import { isObject } from '../contract/json.ts';
import { memberOf, type Span } from '../http/json-walk.ts';
import { decodeHeaderValue, encodeHeaderValue } from './header-value.ts';

/** An argument of a tool that a header repeats. @see MCP 2026-07-28, SEP-2243 */
interface ToolHeader {
  /** Lower-case name of the header. */
  readonly header: string;
  readonly argument: string;
}

const MARK = 'x-mcp-header';
const MARK_BYTES = Buffer.from(`"${MARK}"`);
/** @see RFC 9110 §5.6.2 */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/u;
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];

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

/** Returns undefined for an invalid declaration: of a wrong type, nested, repeated, or with a name that no header has. */
function readToolHeaders(tool: Buffer): readonly ToolHeader[] | undefined {
  const { inputSchema: schema } = JSON.parse(tool.toString()) as { readonly inputSchema?: unknown };
  if (!isObject(schema) || !isObject(schema['properties'])) return schema === undefined ? NONE : undeclared(schema);
  const { properties, ...others } = schema;
  const headers: ToolHeader[] = [];
  for (const [argument, property] of Object.entries(properties as object)) {
    if (!isObject(property)) continue;
    const { [MARK]: name, ...rest } = property;
    if (undeclared(rest) === undefined) return undefined;
    if (name === undefined) continue;
    if (typeof name !== 'string' || !TOKEN.test(name) || !TYPES.includes(property['type'])) return undefined;
    const header = `mcp-param-${name.toLowerCase()}`;
    if (headers.some((other) => other.header === header)) return undefined;
    headers.push({ header, argument });
  }
  return undeclared(others) && headers;
}

/** Returns no headers for a schema without declarations in it; undefined for one with them. */
const undeclared = (schema: unknown): readonly ToolHeader[] | undefined =>
  JSON.stringify(schema).includes(`"${MARK}":`) ? undefined : NONE;

/** Returns the text of an argument as a header carries it; undefined for one that no header carries. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Returns the arguments at `args`. */
const valuesAt = (text: Buffer, args: Span | undefined): Record<string, unknown> =>
  args ? (JSON.parse(text.toString('utf8', args.start, args.end)) as Record<string, unknown>) : {};

/** Returns a flat list of the headers of a call. `params` is the JSON text of an object. */
export function paramHeaders(tool: Buffer, params: Buffer): string[] {
  const headers = toolHeadersOf(tool);
  if (headers.length === 0) return [];
  const values = valuesAt(params, memberOf(params, { start: 0, end: params.length }, 'arguments'));
  return headers.flatMap(({ header, argument }) => {
    const value = Object.hasOwn(values, argument) ? textOf(values[argument]) : undefined;
    return value === undefined ? [] : [header, encodeHeaderValue(value)];
  });
}

/** Returns the name of a header that is missing or contradicts its argument in the object at `args`. */
export function wrongParamHeader(
  tool: Buffer,
  text: Buffer,
  args: Span | undefined,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const declared = toolHeadersOf(tool);
  if (declared.length === 0) return undefined;
  const values = valuesAt(text, args);
  return declared.find(({ header, argument }) => {
    const value = Object.hasOwn(values, argument) ? textOf(values[argument]) : undefined;
    if (value === undefined) return false;
    const sent = headers[header];
    return typeof sent !== 'string' || decodeHeaderValue(sent) !== value;
  })?.header;
}
