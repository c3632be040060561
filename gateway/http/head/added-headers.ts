import type { ServerResponse } from 'node:http';
import type { Express, Response, RequestHandler } from 'express';

const ACCEPTED = /^[\w.:-]{1,128}$/;
const HEADER = 'x-request-id';

/** Adds `X-Request-Id` to every answer: the client's if it is valid, else a new id. */
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

/** Key of the added headers in `res.locals`: names in lower case and values in turn. */
const ADDED = 'addedHeaders';

type WriteHead = (this: Response, status: number, message?: unknown, headers?: unknown) => Response;

/**
 * Adds a header to an answer of an app with `sendAddedHeaders`, unless the answer has one of its own. It costs a fraction of
 * `setHeader`, which also makes the head of the answer slower. `name` is in lower case.
 */
export function addHeader(res: Response, name: string, value: string): void {
  const added = addedTo(res);
  if (added) added.push(name, value);
  else res.locals[ADDED] = [name, value];
}

/** Returns a header that `addHeader` has added. */
export function addedHeader(res: ServerResponse, name: string): string | undefined {
  const added = addedTo(res as Response) ?? [];
  const at = placeOf(name, added);
  return at === -1 ? undefined : added[at + 1];
}

const addedTo = (res: Response): string[] | undefined =>
  (res.locals as Response['locals'] | undefined)?.[ADDED] as string[] | undefined;

/** Sends the headers of `addHeader` with each answer of `app`. */
export function sendAddedHeaders(app: Express): void {
  const { writeHead } = app.response as unknown as { readonly writeHead: WriteHead };
  const hook: WriteHead = function (status, message, headers) {
    const added = addedTo(this);
    if (!added) return writeHead.call(this, status, message, headers);
    if (typeof message !== 'string' && this.getHeaderNames().length === 0)
      return writeHead.call(this, status, merged(message ?? headers, added));
    for (let at = 0; at < added.length; at += 2) {
      const name = added[at] as string;
      if (!this.hasHeader(name)) this.setHeader(name, added[at + 1] as string);
    }
    return writeHead.call(this, status, message, headers);
  };
  Object.assign(app.response, { writeHead: hook });
}

/** Returns the index of a header in a flat list; -1 for one that it does not have. */
function placeOf(name: string, list: readonly unknown[]): number {
  for (let at = 0; at < list.length; at += 2) if (list[at] === name) return at;
  return -1;
}

/** Returns a flat list of headers. Those of `given`, an object or such a list, come first and count. */
function merged(given: unknown, added: readonly string[]): unknown[] {
  const all: unknown[] = Array.isArray(given) ? [...(given as unknown[])] : [];
  if (!Array.isArray(given)) for (const [name, value] of Object.entries(given ?? {})) all.push(name, value);
  for (let at = 0; at < added.length; at += 2) {
    const name = added[at] as string;
    if (placeOf(name, all) === -1) all.push(name, added[at + 1]);
  }
  return all;
}
