import type { Request } from 'express';
import { readBody } from '../../http/read-body.ts';
import { parametersOf, type RequestParameters } from '../core/request-parameters.ts';
import { Refused } from './refused.ts';

const MAX_BYTES = 64 * 1024;
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** Parameters of a form. Throws `Refused` for another type, a packed body and one over 64 KiB. */
export async function formOf(req: Request): Promise<RequestParameters> {
  if (mediaType(req) !== FORM || isPacked(req)) throw new Refused('not_a_form');
  return parametersOf(await textOf(req));
}

/** Parameters of a query. */
export function queryOf(req: Request): RequestParameters {
  const start = req.originalUrl.indexOf('?');
  return parametersOf(start === -1 ? '' : req.originalUrl.slice(start + 1));
}

/** Text of a JSON body. Throws `Refused` for another type, a packed body and one over 64 KiB. */
export async function jsonTextOf(req: Request): Promise<string> {
  if (mediaType(req) !== JSON_TYPE || isPacked(req)) throw new Refused('registration_type');
  return textOf(req);
}

const mediaType = ({ headers }: Request): string =>
  (headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase();

const isPacked = ({ headers }: Request): boolean => (headers['content-encoding'] ?? 'identity') !== 'identity';

const textOf = (req: Request): Promise<string> =>
  new Promise((resolve, reject) => {
    readBody(
      req,
      { limit: MAX_BYTES },
      (body) => {
        resolve(body.toString('utf8'));
      },
      (why) => {
        reject(new Refused(why === 'too_large' ? 'body_too_large' : 'client_left'));
      },
    );
  });
