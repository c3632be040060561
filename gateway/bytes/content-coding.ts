import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

/** A coding of bodies that can be decoded. @see RFC 9110 section 8.4.1 */
export interface Coding {
  readonly name: string;
  /** Returns a decoder for a body with this first piece; undefined for a body that is plain in spite of its header. */
  readonly decoder: (first: Buffer) => Transform | undefined;
  /** Decodes a whole body. Rejects with the error of zlib, also when the result is longer than `maxOutputLength`. */
  readonly decode: (body: Buffer, limit: { readonly maxOutputLength: number }) => Promise<Buffer>;
}

/** The body has codings that cannot be decoded. */
export class UnknownCoding extends Error {
  constructor(names: string) {
    const shown = names.replace(/[^\w, .*+-]/gu, '?').slice(0, 40);
    super(`its content coding "${shown}" cannot be decoded, only ${[...CODINGS.keys()].join(', ')}`);
    this.name = 'UnknownCoding';
  }
}

/** Length of the pieces that a decoder returns. */
const PIECES = { chunkSize: 64 * 1024 };

const gzip: Coding = {
  name: 'gzip',
  decoder: (first) => (first[0] === 0x1f ? zlib.createGunzip(PIECES) : undefined),
  decode: promisify(zlib.gunzip),
};

/** Returns true for the zlib format, which RFC 9110 calls "deflate". Some servers send raw deflate data instead. */
const isZlib = (body: Buffer): boolean => ((body[0] ?? 0) & 0x0f) === 8;
const inflate = promisify(zlib.inflate);
const inflateRaw = promisify(zlib.inflateRaw);
const deflate: Coding = {
  name: 'deflate',
  decoder: (first) => (isZlib(first) ? zlib.createInflate(PIECES) : zlib.createInflateRaw(PIECES)),
  decode: (body, limit) => (isZlib(body) ? inflate(body, limit) : inflateRaw(body, limit)),
};

const br: Coding = {
  name: 'br',
  decoder: () => zlib.createBrotliDecompress(PIECES),
  decode: promisify(zlib.brotliDecompress),
};

/** Returns true for a Zstandard frame, also for a skippable frame. @see RFC 8878 section 3.1 */
const isZstd = ([byte = 0]: Buffer): boolean => byte === 0x28 || (byte & 0xf0) === 0x50;
const zstd = (): Coding => ({
  name: 'zstd',
  decoder: (first) => (isZstd(first) ? zlib.createZstdDecompress(PIECES) : undefined),
  decode: promisify(zlib.zstdDecompress),
});

/** Codings by name, those that servers prefer first. Older releases of Node.js have no Zstandard. */
const CODINGS: ReadonlyMap<string, Coding> = new Map(
  [...('createZstdDecompress' in zlib ? [zstd()] : []), br, gzip, deflate].map((coding) => [coding.name, coding]),
);

/**
 * `Accept-Encoding` of requests: all codings that can be decoded. Plain bodies come first: event streams arrive without
 * the delay of a compressor, and most replies are short or come from near.
 */
export const ACCEPT_ENCODING = ['identity', ...CODINGS.keys()].join(', ').replace(/, (\w+)/gu, ', $1;q=0.5');

/** Returns the coding of a `Content-Encoding`; undefined for a plain body. @throws UnknownCoding */
export function codingOf(header: string | readonly string[] | undefined): Coding | undefined {
  if (header === undefined) return undefined;
  const names = String(header)
    .toLowerCase()
    .split(',')
    .map((name) => name.trim().replace(/^x-(?=gzip$)/u, ''))
    .filter((name) => name !== '' && name !== 'identity');
  const [name] = names;
  if (name === undefined) return undefined;
  const coding = names.length === 1 ? CODINGS.get(name) : undefined;
  if (!coding) throw new UnknownCoding(names.join(', '));
  return coding;
}
