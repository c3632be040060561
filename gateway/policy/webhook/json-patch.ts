import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '../../contract/json.ts';
/** `JSON.parse` with the source text of each value, and its counterpart. @see ECMA-262, JSON.rawJSON */
interface SourceText {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const json = JSON as unknown as SourceText;

/**
 * Parses JSON text and keeps the digits of each number that a double cannot represent, so that `JSON.stringify` writes
 * them as they came: 12345678901234567890, 1.0, 1e400.
 */
export const parseExactly = (text: string): unknown =>
  json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== JSON.stringify(value)
      ? json.rawJSON(source)
      : value,
  );

/** Returns true for a number whose text is kept. */
const isExactNumber = (value: unknown): boolean => json.isRawJSON(value);

/** One operation of RFC 6902. */
export interface PatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** A patch is malformed or does not apply. `message` quotes nothing of the patch except the number of an operation. */
export class PatchError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PatchError';
  }
}

const MAX_OPERATIONS = 1_000;
/** Most characters of JSON that the operations of one patch may copy and compare: each copy could double the document. */
const MAX_COPIED = 4 * 1024 * 1024;

/** Members that only some operations have. @see RFC 6902 section 4 */
const NEEDS: Readonly<Record<string, 'value' | 'from' | undefined>> = {
  add: 'value',
  replace: 'value',
  test: 'value',
  copy: 'from',
  move: 'from',
  remove: undefined,
};

/** Reads the operations of a parsed JSON document. Unknown members are ignored (RFC 6902 section 4). @throws PatchError */
export function readPatch(json: unknown): PatchOperation[] {
  if (!Array.isArray(json)) throw new PatchError('the patch is not a list');
  if (json.length > MAX_OPERATIONS)
    throw new PatchError(`the patch has more than ${String(MAX_OPERATIONS)} operations`);
  return json.map((operation: unknown, index) => {
    const number = String(index + 1);
    if (!isObject(operation)) throw new PatchError(`operation ${number} is not an object`);
    const { op, path, from, value } = operation;
    if (typeof op !== 'string' || !Object.hasOwn(NEEDS, op))
      throw new PatchError(`operation ${number} has no known op`);
    if (typeof path !== 'string') throw new PatchError(`operation ${number} has no path`);
    const needed = NEEDS[op];
    if (needed === 'from' && typeof from !== 'string') throw new PatchError(`operation ${number} has no from`);
    if (needed === 'value' && !Object.hasOwn(operation, 'value'))
      throw new PatchError(`operation ${number} has no value`);
    return { op, path, ...(typeof from === 'string' && { from }), ...(needed === 'value' && { value }) };
  });
}

/** Returns the reference tokens of a JSON Pointer. @see RFC 6901 section 4 @throws PatchError */
export function pointerTokens(pointer: string): string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/u.test(pointer)) throw new PatchError('a path is not a JSON Pointer');
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Applies the operations in order and returns the new document. Changes `document`, which is the caller's own. A patch
 * applies as a whole or not at all, so the caller drops the document on an error.
 * @see RFC 6902 section 5 @throws PatchError
 */
export function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  const root = { document, copied: 0 };
  for (const operation of operations) apply(root, operation);
  return root.document;
}

interface Root {
  document: unknown;
  /** Characters copied and compared so far. */
  copied: number;
}

function apply(root: Root, { op, path, from = '', value }: PatchOperation): void {
  const to = pointerTokens(path);
  switch (op) {
    case 'add':
      add(root, to, value);
      return;
    case 'remove':
      remove(root, to);
      return;
    case 'replace':
      replace(root, to, value);
      return;
    case 'copy':
      add(root, to, parseExactly(textOf(root, get(root, pointerTokens(from)))));
      return;
    case 'move':
      move(root, pointerTokens(from), to);
      return;
    default:
      if (!isEqual(textOf(root, get(root, to)), JSON.stringify(value))) {
        throw new PatchError('a test of the patch fails');
      }
  }
}

/** Returns the JSON text of a value, which counts as copied. */
function textOf(root: Root, value: unknown): string {
  const text = JSON.stringify(value);
  root.copied += text.length;
  if (root.copied > MAX_COPIED) throw new PatchError('the patch copies too much');
  return text;
}

/** Compares two JSON texts: numbers by their value, objects without their order. @see RFC 6902 section 4.6 */
const isEqual = (one: string, other: string): boolean =>
  one === other || isDeepStrictEqual(JSON.parse(one), JSON.parse(other));

function move(root: Root, from: readonly string[], to: readonly string[]): void {
  if (from.length < to.length && from.every((token, index) => token === to[index])) {
    throw new PatchError('the patch moves a value into itself');
  }
  const value = get(root, from);
  if (from.length > 0) remove(root, from);
  add(root, to, value);
}

function get(root: Root, tokens: readonly string[]): unknown {
  return tokens.reduce((holder, token) => child(holder, token), root.document);
}

function child(holder: unknown, token: string): unknown {
  if (Array.isArray(holder)) return holder[indexOf(token, holder.length - 1)] as unknown;
  if (isHolder(holder) && Object.hasOwn(holder, token)) return holder[token];
  throw missing();
}

function add(root: Root, tokens: readonly string[], value: unknown): void {
  const [holder, token] = place(root, tokens);
  if (token === undefined) root.document = value;
  else if (Array.isArray(holder)) {
    holder.splice(token === '-' ? holder.length : indexOf(token, holder.length), 0, value);
  } else if (isHolder(holder)) setOwn(holder, token, value);
  else throw missing();
}

function remove(root: Root, tokens: readonly string[]): void {
  const [holder, token] = place(root, tokens);
  if (token === undefined) throw new PatchError('the patch removes the whole document');
  child(holder, token);
  if (Array.isArray(holder)) holder.splice(Number(token), 1);
  else Reflect.deleteProperty(holder as object, token);
}

function replace(root: Root, tokens: readonly string[], value: unknown): void {
  const [holder, token] = place(root, tokens);
  if (token === undefined) {
    root.document = value;
    return;
  }
  child(holder, token);
  if (Array.isArray(holder)) holder[Number(token)] = value;
  else setOwn(holder as object, token, value);
}

/** Returns the value that holds the target, and the last token; both undefined for the whole document. */
function place(root: Root, tokens: readonly string[]): [holder: unknown, token: string | undefined] {
  const token = tokens.at(-1);
  return token === undefined ? [undefined, undefined] : [get(root, tokens.slice(0, -1)), token];
}

function indexOf(token: string, most: number): number {
  const index = /^(0|[1-9][0-9]{0,8})$/u.test(token) ? Number(token) : Number.NaN;
  if (index <= most) return index;
  throw missing();
}

const isHolder = (value: unknown): value is JsonObject => isObject(value) && !isExactNumber(value);

/** Sets a member of its own: an assignment to `__proto__` would replace the prototype. */
const setOwn = (holder: object, key: string, value: unknown): void =>
  void Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });

const missing = (): PatchError => new PatchError('a path of the patch leads nowhere');
