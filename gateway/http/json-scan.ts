import { isUtf8 } from 'node:buffer';
import { fail, isObjectSpan, isWordAt, ScanError, skipValue, skipWhitespace, type Span } from './json-walk.ts';
import { knownKeys, knownMembers, scanKnown, type KnownMembers } from './known-members.ts';

/** Top-level members of a JSON-RPC message. Values are spans of the scanned bytes, which are forwarded unchanged. */
export interface Envelope {
  readonly id: Span | undefined;
  readonly method: string | undefined;
  readonly params: Span | undefined;
  readonly result: Span | undefined;
  readonly error: Span | undefined;
}

/** Envelope of a client's message, with the members of `params`. `surface` is undefined if `params` is no object. */
export interface ClientEnvelope extends Envelope {
  readonly surface: ParamsSurface | undefined;
}

/** Direct members of `params` that routing reads. */
export interface ParamsSurface {
  readonly name: Span | undefined;
  readonly uri: Span | undefined;
  readonly arguments: Span | undefined;
  readonly cursor: Span | undefined;
  readonly meta: Span | undefined;
  /** Text of `meta`, when the scan was given an equal one. */
  readonly knownMeta?: Buffer | undefined;
  readonly ref: Span | undefined;
  readonly taskId: Span | undefined;
  readonly requestState: Span | undefined;
  readonly task: Span | undefined;
}

/** Top-level keys of a JSON-RPC message. */
export const ENVELOPE_KEYS = knownKeys('jsonrpc', 'id', 'method', 'params', 'result', 'error');
const PARAMS = 3;
const META = 4;
/** Limits the number of members of `_meta`, which the gateway reads. It finds none of them. */
const META_MEMBERS = { index: META, members: knownMembers(knownKeys()) };
const PARAMS_KEYS = knownKeys('name', 'uri', 'arguments', 'cursor', '_meta', 'ref', 'taskId', 'requestState', 'task');

/**
 * Finds the envelope of a client's JSON-RPC 2.0 message and the members of `params` that routing reads, in one pass that
 * validates the whole text. Throws `ScanError`: `parse` for text that is not JSON (RFC 8259, UTF-8, no BOM, depth <= 200),
 * `batch` for an array, `invalid` for JSON that is not one JSON-RPC message. A known key that occurs twice, or with an escape
 * or in another case, is `invalid` too: the gateway and a backend might read different values. An `id` is a string or a safe integer.
 * `validMeta` is `_meta` of an earlier message, an object: an equal one is not read again, and is `knownMeta` of the surface.
 */
export function scanEnvelope(body: Buffer, validMeta?: Buffer): ClientEnvelope {
  const valid = validMeta && { index: META, text: validMeta, isFound: false };
  const params = knownMembers(PARAMS_KEYS, META_MEMBERS, valid);
  const envelope = scanMessage(body, knownMembers(ENVELOPE_KEYS, { index: PARAMS, members: params }));
  if (envelope.id !== undefined) checkId(body, envelope.id);
  if (envelope.params !== undefined && !isObjectSpan(body, envelope.params)) return { ...envelope, surface: undefined };
  const [name, uri, args, cursor, meta, ref, taskId, requestState, task] = params.found;
  const knownMeta = valid?.isFound === true ? validMeta : undefined;
  const surface = { name, uri, arguments: args, cursor, meta, knownMeta, ref, taskId, requestState, task };
  return { ...envelope, surface };
}

/**
 * Finds the envelope of a backend's message. An `id` of null counts as absent. Throws as `scanEnvelope` does.
 */
export function scanBackendEnvelope(body: Buffer): Envelope {
  const envelope = scanMessage(body, knownMembers(ENVELOPE_KEYS));
  const { id } = envelope;
  return id && body[id.start] === 0x6e ? { ...envelope, id: undefined } : envelope;
}

function scanMessage(body: Buffer, members: KnownMembers): Envelope {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) fail('parse', 'the body starts with a byte order mark');
  if (!isUtf8(body)) fail('parse', 'the body is not UTF-8');
  const start = skipWhitespace(body, 0);
  const isBatch = body[start] === 0x5b;
  if (body[start] !== 0x7b) {
    requireEnd(body, skipValue(body, start));
    if (isBatch) fail('batch', 'batches are not supported: send one message per request');
    fail('invalid', 'a JSON-RPC message is an object');
  }
  requireEnd(body, scanKnown(body, start, members));
  const [version, id, methodSpan, params, result, error] = members.found;
  if (!isVersion2(body, version)) fail('invalid', '"jsonrpc" must be "2.0"');
  const method = methodSpan && (readMethod(body, methodSpan) ?? fail('invalid', '"method" must be a string'));
  if (method === undefined && result === undefined && error === undefined)
    fail('invalid', 'a message has a method, a result or an error');
  if (method !== undefined && (result !== undefined || error !== undefined)) fail('invalid', 'a request has no result');
  return { id, method, params, result, error };
}

const TOOL_CALL = Buffer.from('"tools/call"');

/** The method of most messages is one string, of which V8 knows the hash. */
const readMethod = (body: Buffer, span: Span): string | undefined =>
  isWordAt(body, span.start, span.end, TOOL_CALL) ? 'tools/call' : readString(body, span);

/** Returns the members of `params` that routing reads. Throws `invalid` if `params` is no object. */
export const paramsOf = ({ surface }: ClientEnvelope): ParamsSurface =>
  surface ?? fail('invalid', '"params" must be an object');

/** Returns the text of the JSON string at `span`, or undefined for another value. */
export function readString(body: Buffer, span: Span | undefined): string | undefined {
  if (span === undefined || body[span.start] !== 0x22) return undefined;
  for (let at = span.start + 1; at < span.end - 1; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === 0x5c || byte >= 0x80) return JSON.parse(body.toString('utf8', span.start, span.end)) as string;
  }
  return body.toString('latin1', span.start + 1, span.end - 1);
}

const isVersion2 = (body: Buffer, at: Span | undefined): boolean =>
  at?.end === (at?.start ?? 0) + 5 &&
  body[at.start] === 0x22 &&
  body[at.start + 1] === 0x32 &&
  body[at.start + 2] === 0x2e &&
  body[at.start + 3] === 0x30;

function checkId(body: Buffer, id: Span): void {
  if (body[id.start] === 0x22) return;
  const text = body.toString('latin1', id.start, id.end);
  if (text === 'null') fail('invalid', '"id" must not be null');
  const value = Number(text);
  if (!Number.isSafeInteger(value) || String(value) !== text)
    fail('invalid', '"id" must be a string or an integer below 2^53');
}

function requireEnd(body: Buffer, at: number): void {
  if (skipWhitespace(body, at) !== body.length) fail('parse', 'there is text after the message');
}

export { ScanError, type Span };
