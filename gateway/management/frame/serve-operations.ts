import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from '../../contract/logger.ts';
import type { Operation } from '../../http/endpoint/operation.ts';
import { route } from '../../http/endpoint/router.ts';
import type { ManagementContext } from '../context.ts';
import type { ManagementOperation } from '../operation.ts';
import { answerError, logFailure, sendError } from './error-answers.ts';
import { parseLeniently } from './lenient-json.ts';
import { sendLines, streamLines } from './lines.ts';
import { limitTime, type LimitedCall } from './time-limit.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** First segments of the paths that belong to the API, so that unknown paths below them get its 404. */
const ROOTS = /^\/(?:api\/v1beta|registry)(?:\/|$)/;
const SINGLE_PATHS = new Set(['/health', '/api/openapi.json']);

export interface Process {
  readonly log: Logger;
  /** Aborted when the process drains: streams end. */
  readonly draining: AbortSignal;
}

/** Creates the handler of all operations. Passes requests for other paths to the next handler. */
export function serveOperations(
  operations: readonly ManagementOperation[],
  context: ManagementContext,
  { log, draining }: Process,
): RequestHandler {
  const endpoints = new Map(
    operations.map((operation) => {
      const paths = pathsOf(operation, operations);
      return [endpointOf(operation, paths, { context, log, draining }), operation];
    }),
  );
  const answer = route(
    [...endpoints.keys()],
    {
      methodNotAllowed: (res) => {
        res.status(405).end();
      },
      thrown: (endpoint, req, res, error) => {
        const operation = endpoints.get(endpoint);
        if (operation) answerError(operation, log)(req, res, error);
      },
    },
    { maxBodyBytes: MAX_BODY_BYTES, ignoresMediaType: true, acceptsRepeated: true, parseBody: parseLeniently },
  );
  return (req, res, next) => {
    if (!ROOTS.test(req.path) && !SINGLE_PATHS.has(req.path)) {
      next();
      return;
    }
    res.set({ 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' });
    res.set('Cache-Control', 'no-store');
    if (req.path.startsWith('/api/')) res.setHeader('content-type', 'application/json');
    answer(req, res, () => {
      sendError(req, res, { status: 404, code: 'not_found', message: '404 page not found', isStructured: false });
    });
  };
}

/** Returns the paths of an operation. Adds a slash at the end of a collection, and an empty name to an item except for GET. */
function pathsOf({ method, path }: ManagementOperation, operations: readonly ManagementOperation[]): string[] {
  if (!path.endsWith('}')) return [path, `${path}/`];
  const unnamed = path.slice(0, path.lastIndexOf('/') + 1);
  const isTaken = operations.some((other) => other.method === method && `${other.path}/` === unnamed);
  return method === 'GET' || isTaken ? [path] : [path, unnamed];
}

function endpointOf(
  operation: ManagementOperation,
  paths: readonly string[],
  { context, log, draining }: Process & { readonly context: ManagementContext },
): Operation {
  const { method, input, timeoutMs = TIMEOUT_MS } = operation;
  return {
    method,
    paths,
    input,
    handle: async (req, res, parts) => {
      const call = limitTime(res, timeoutMs);
      try {
        const result = await Promise.race([operation.run(context, parts, { signal: call.signal }), call.expired]);
        if (isStream(result)) await sendStream(req, res, result, { call, log, draining });
        else sendResult(operation, res, result);
      } finally {
        call.end();
      }
    },
  };
}

const isStream = (result: unknown): result is AsyncIterable<string> =>
  typeof result === 'object' && result !== null && Symbol.asyncIterator in result;

/** Sends a stream until it ends, the client disconnects, or the process drains. */
async function sendStream(
  req: Request,
  res: Response,
  lines: AsyncIterable<string>,
  { call, log, draining }: Process & { readonly call: LimitedCall },
): Promise<void> {
  call.removeLimit();
  const end = (): void => {
    call.abort(draining.reason);
  };
  draining.addEventListener('abort', end, { once: true });
  if (draining.aborted) end();
  try {
    await streamLines(req, res, lines, call.signal);
  } catch (error) {
    logFailure(log, error, req, res);
    throw error;
  } finally {
    draining.removeEventListener('abort', end);
  }
}

function sendResult({ success }: ManagementOperation, res: Response, result: unknown): void {
  const { location, status } = success;
  if (location) res.setHeader('location', location(result as never));
  res.status(status);
  if (success.hasLines === true) sendLines(res, result as readonly string[]);
  else if (success.body === undefined) res.end();
  else res.setHeader('content-type', 'application/json').end(`${JSON.stringify(result)}\n`);
}
