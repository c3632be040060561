import type { IncomingMessage } from 'node:http';
import { readBody } from '../body/read-body.ts';
import { RequestError } from './request-error.ts';

const MAX_BYTES = 64 * 1024;
export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

/**
 * Reads the text of a body. Throws `RequestError` for a content encoding, more than `limit` bytes and, unless `expected` is
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
        resolve(body.toString('utf8'));
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
