import type { RequestHandler } from 'express';

/**
 * Joins handlers that answer or call `next` into one layer of Express: each layer that a request passes costs more than the
 * checks in it. A handler that returns a promise must handle its rejection.
 */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return (req, res, next) => {
    let index = 0;
    const proceed = (error?: unknown): void => {
      const handler = error ? undefined : handlers[index++]; // a router may end with null: the later checks still run
      if (handler) void handler(req, res, proceed);
      else next(error);
    };
    proceed();
  };
}
