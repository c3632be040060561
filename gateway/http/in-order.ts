import type { NextFunction, Request, RequestHandler, Response } from 'express';

/**
 * Joins handlers that answer or call `next` into one layer of Express: each layer that a request passes costs more than the
 * checks in it. A handler that returns a promise must handle its rejection.
 */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return (req, res, next) => {
    run(handlers, 0, req, res, next);
  };
}

/** Calls the handlers from `index` on. */
function run(
  handlers: readonly RequestHandler[],
  index: number,
  req: Request,
  res: Response,
  next: NextFunction,
): void {
  const handler = handlers[index];
  if (!handler) {
    next();
    return;
  }
  void handler(req, res, (error?: unknown) => {
    if (error) next(error);
    else run(handlers, index + 1, req, res, next); // a router may end with null: the later checks still run
  });
}

/** Path of the MCP endpoint as nearly all clients send it. */
const MCP = '/mcp';

/** Skips handlers of other paths for calls. Express itself compares the path without case and query, so they must not matter to it. */
export const unlessMcp =
  (handler: RequestHandler): RequestHandler =>
  (req, res, next) => {
    if (req.url === MCP) next();
    else void handler(req, res, next);
  };
