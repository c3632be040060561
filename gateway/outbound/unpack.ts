import { codingOf, UnknownCoding, type Coding } from '../bytes/content-coding.ts';
import { OutboundError, tooLarge } from './outbound-error.ts';

/**
 * Returns the decoded body, limited to `maxBytes`.
 * @param encoding value of `Content-Encoding`
 * @throws OutboundError, or the error of zlib
 */
export async function unpack(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const coding = readableCoding(encoding);
  if (!coding || body.length === 0) return body;
  try {
    return await coding.decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(maxBytes) : error;
  }
}

function readableCoding(encoding: string): Coding | undefined {
  try {
    return codingOf(encoding);
  } catch (error) {
    throw error instanceof UnknownCoding
      ? new OutboundError('unreachable', `the reply cannot be read: ${error.message}`)
      : error;
  }
}
