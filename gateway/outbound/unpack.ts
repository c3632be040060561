import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { OutboundError, tooLarge } from './outbound-error.ts';

type Decoder = (packed: Buffer, limits: { readonly maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/**
 * Returns the decompressed body, limited to `maxBytes`.
 * @param encoding value of `Content-Encoding`: everything except one known encoding is rejected
 * @throws OutboundError, or the error of zlib
 */
export async function unpack(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decode = DECODERS.get(name);
  if (!decode) throw new OutboundError('unreachable', 'the reply has a content encoding that was not requested');
  try {
    return await decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(maxBytes) : error;
  }
}
