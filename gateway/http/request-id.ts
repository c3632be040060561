import type { RequestHandler } from 'express';

const ACCEPTED = /^[\w.:-]{1,128}$/;

/** Sets `X-Request-Id` on every answer: the client's if it is valid, else a new one. */
export function requestId(prefix: string): RequestHandler {
  let last = 0;
  return (req, res, next) => {
    const given = req.headers['x-request-id'];
    last += 1;
    res.setHeader(
      'x-request-id',
      typeof given === 'string' && ACCEPTED.test(given) ? given : `${prefix}-${last.toString(36)}`,
    );
    next();
  };
}
