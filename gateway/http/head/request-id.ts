import type { ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { addedHeader, addHeader } from './added-headers.ts';

const ACCEPTED = /^[\w.:-]{1,128}$/;
const HEADER = 'x-request-id';

/** Adds `X-Request-Id` to every answer: the client's if it is valid, else a new one. */
export function requestId(prefix: string): RequestHandler {
  let last = 0;
  return (req, res, next) => {
    const given = req.headers[HEADER];
    last += 1;
    addHeader(
      res,
      HEADER,
      typeof given === 'string' && ACCEPTED.test(given) ? given : `${prefix}-${last.toString(36)}`,
    );
    next();
  };
}

export const requestIdOf = (res: ServerResponse): string => addedHeader(res, HEADER) ?? '';
