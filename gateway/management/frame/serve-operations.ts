import type { RequestHandler, Response } from 'express';
import type { Logger } from '../../contract/logger.ts';
import type { Operation } from '../../http/endpoint/operation.ts';
import { route } from '../../http/endpoint/router.ts';
import type { ManagementContext } from '../context.ts';
import type { ManagementOperation } from '../operation.ts';
import { answerError, OperationTimeout, sendError, wantsProblem } from './error-answers.ts';
import { parseLeniently } from './lenient-json.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000;
const METHOD_NOT_ALLOWED = { status: 405, code: 'method_not_allowed', isStructured: false } as const;

/** First segments of the paths that belong to the API, so that unknown paths below them get its 404. */
const ROOTS = /^\/(?:api\/v1beta|registry)(?:\/|$)/;
const SINGLE_PATHS = new Set(['/health', '/api/openapi.json']);

/** Creates the handler of all operations. Passes requests for other paths to the next handler. */
export function serveOperations(
  operations: readonly ManagementOperation[],
  context: ManagementContext,
  log: Logger,
): RequestHandler {
  const endpoints = new Map(operations.map((operation) => [endpointOf(operation, operations, context), operation]));
  const answer = route(
    [...endpoints.keys()],
    {
      methodNotAllowed: (res, message) => {
        if (wantsProblem(res.req)) sendError(res.req, res, { ...METHOD_NOT_ALLOWED, message });
        else res.status(405).end();
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
  operations: readonly ManagementOperation[],
  context: ManagementContext,
): Operation {
  const { method, input } = operation;
  return {
    method,
    paths: pathsOf(operation, operations),
    input,
    handle: async (_req, res, parts) => {
      const call = limitTime(res, operation.timeoutMs ?? TIMEOUT_MS);
      try {
        const body = await Promise.race([operation.run(context, parts, { signal: call.signal }), call.expired]);
        sendResult(operation, context, res, body);
      } finally {
        call.end();
      }
    },
  };
}

/** Starts the time limit of an operation. `expired` rejects with `OperationTimeout`. */
function limitTime(res: Response, ms: number) {
  const abort = new AbortController();
  const onClose = (): void => {
    if (!res.writableFinished) abort.abort(new Error('the client has disconnected'));
  };
  res.once('close', onClose);
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const timeout = new OperationTimeout();
      abort.abort(timeout);
      reject(timeout);
    }, ms);
  });
  return {
    signal: abort.signal,
    expired,
    end: () => {
      clearTimeout(timer);
      res.off('close', onClose);
    },
  };
}

function sendResult({ success }: ManagementOperation, context: ManagementContext, res: Response, body: unknown): void {
  const { location, status, headers = {} } = success;
  for (const [name, { value }] of Object.entries(headers)) res.setHeader(name, value(context));
  if (location) res.setHeader('location', location(body as never));
  res.status(status);
  if (success.body === undefined) res.end();
  else res.setHeader('content-type', 'application/json').end(`${JSON.stringify(body)}\n`);
}
