import type { IncomingMessage } from 'node:http';
import { readBody } from '../body/read-body.ts';
import { RequestError, type InputProblem } from './request-error.ts';
import { decodeUtf8 } from '../../contract/text/utf8.ts';

const MAX_BYTES = 64 * 1024;
export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

const NOT_UTF8: InputProblem = { path: 'body', reason: 'invalid', message: 'must be UTF-8' };

/**
 * Reads the text of a body. Throws `RequestError` for a content encoding, other bytes than UTF-8, more than `limit` bytes and, unless `expected` is
 * undefined, for another media type.
 */
export function readBodyText(
  req: IncomingMessage,
  expected: typeof FORM | typeof JSON_TYPE | undefined,
  limit = MAX_BYTES,
): Promise<string> {
  if ((expected !== undefined && mediaType(req) !== expected) || isEncoded(req))
    throw new RequestError({ kind: 'media_type', expected: expected ?? JSON_TYPE });
  return new Promise((resolve, reject) => {
    readBody(
      req,
      { limit },
      (body) => {
        const text = decodeUtf8(body);
        if (text === undefined) reject(new RequestError({ kind: 'invalid_input', problems: [NOT_UTF8] }));
        else resolve(text);
      },
      (why) => {
        const tooLarge = { kind: 'too_large', limit } as const;
        reject(new RequestError(why === 'too_large' ? tooLarge : { kind: 'client_left' }));
      },
    );
  });
}

const mediaType = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase();

const isEncoded = ({ headers }: IncomingMessage): boolean => (headers['content-encoding'] ?? 'identity') !== 'identity';
