import { once } from 'node:events';
import type { Request, RequestHandler, Response } from 'express';
import { setOperation } from '../../audit/management-requests.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Operation } from '../../http/endpoint/operation.ts';
import { route } from '../../http/endpoint/router.ts';
import type { ManagementContext, ManagementOperation } from '../operation.ts';
import { createErrorHandler, logFailure, sendErrorAnswer, STREAM_LIMIT_ERROR, wantsProblem } from './error-answers.ts';
import { parseLeniently } from './lenient-json.ts';
import { limitTime, type LimitedCall } from './time-limit.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000;
const METHOD_NOT_ALLOWED = { status: 405, code: 'method_not_allowed', isStructured: false } as const;
/** Most streams at once: they must leave connections of the listener to other requests. */
const MOST_STREAMS = 64;
const TOO_MANY_STREAMS = { ...STREAM_LIMIT_ERROR, isStructured: false };

/** First segments of the paths that belong to the API, so that unknown paths below them get its 404. */
const ROOTS = /^\/(?:api\/v1beta|registry)(?:\/|$)/;
const SINGLE_PATHS = new Set(['/health', '/api/openapi.json']);

interface Process {
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
  const streams = { open: 0 };
  const endpoints = new Map(
    operations.map((operation) => {
      const paths = pathsOf(operation, operations);
      return [endpointOf(operation, paths, { context, streams, log, draining }), operation];
    }),
  );
  const answer = route(
    [...endpoints.keys()],
    {
      methodNotAllowed: (res, message) => {
        if (wantsProblem(res.req)) sendErrorAnswer(res.req, res, { ...METHOD_NOT_ALLOWED, message });
        else res.status(405).end();
      },
      thrown: (endpoint, req, res, error) => {
        const operation = endpoints.get(endpoint);
        if (operation) createErrorHandler(operation, log)(req, res, error);
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
      sendErrorAnswer(req, res, { status: 404, code: 'not_found', message: '404 page not found', isStructured: false });
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

interface Server extends Process {
  readonly context: ManagementContext;
  /** Number of open streams. */
  readonly streams: { open: number };
}

function endpointOf(operation: ManagementOperation, paths: readonly string[], server: Server): Operation {
  const { method, input, timeoutMs = TIMEOUT_MS } = operation;
  const { context } = server;
  return {
    method,
    paths,
    input,
    handle: async (req, res, parts) => {
      setOperation(res, operation.id);
      const call = limitTime(res, timeoutMs);
      try {
        const result = await Promise.race([operation.run(context, parts, { signal: call.signal }), call.expired]);
        if (isStream(result)) await sendStream(req, res, result, { ...server, call });
        else sendResult(operation, context, res, result);
      } finally {
        call.end();
      }
    },
  };
}

const isStream = (result: unknown): result is AsyncIterable<string> =>
  typeof result === 'object' && result !== null && Symbol.asyncIterator in result;

/** Sends a stream until it ends, the client disconnects, or the process drains. Answers 503 when too many are open. */
async function sendStream(
  req: Request,
  res: Response,
  lines: AsyncIterable<string>,
  { call, streams, log, draining }: Server & { readonly call: LimitedCall },
): Promise<void> {
  call.removeLimit();
  const end = (): void => {
    call.abort(draining.reason);
  };
  if (streams.open >= MOST_STREAMS) {
    end();
    sendErrorAnswer(req, res, TOO_MANY_STREAMS);
    return;
  }
  draining.addEventListener('abort', end, { once: true });
  if (draining.aborted) end();
  streams.open += 1;
  try {
    await streamLines(req, res, lines, call.signal);
  } catch (error) {
    logFailure(log, error, req, res);
    throw error;
  } finally {
    streams.open -= 1;
    draining.removeEventListener('abort', end);
  }
}

function sendResult(
  { success }: ManagementOperation,
  context: ManagementContext,
  res: Response,
  result: unknown,
): void {
  const { location, status, headers = {} } = success;
  for (const [name, { value }] of Object.entries(headers)) res.setHeader(name, value(context));
  if (location) res.setHeader('location', location(result as never));
  res.status(status);
  if (success.hasLines === true) sendLines(res, result as readonly string[]);
  else if (success.body === undefined) res.end();
  else res.setHeader('content-type', 'application/json').end(`${JSON.stringify(result)}\n`);
}

const TEXT = 'text/plain; charset=utf-8';
const EVENTS = 'text/event-stream';
/** Interval of comments in an event stream, so that proxies keep it open. */
const HEARTBEAT_MS = 15_000;

/** Sends lines as text. */
function sendLines(res: Response, lines: readonly string[]): void {
  res.setHeader('content-type', TEXT).end(lines.map((line) => `${line}\n`).join(''));
}

/**
 * Sends lines as they come: as an event stream (WHATWG HTML, server-sent events) if the client accepts it, else as chunks of text.
 * Reads the next line when the client has read the lines before it. Returns when the lines end or `signal` is aborted.
 */
async function streamLines(
  req: Request,
  res: Response,
  lines: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> {
  const isEvents = req.accepts(['text/plain', EVENTS]) === EVENTS;
  const encode = isEvents ? eventOf : (line: string): string => `${line}\n`;
  res
    .status(200)
    .setHeader('content-type', isEvents ? EVENTS : TEXT)
    .setHeader('x-accel-buffering', 'no')
    .flushHeaders();
  const beat = (): void => {
    if (!res.writableNeedDrain) res.write(':\n\n');
  };
  const heartbeat = isEvents ? setInterval(beat, HEARTBEAT_MS) : undefined;
  try {
    for await (const line of lines) {
      if (signal.aborted) break;
      if (!res.write(encode(line))) await once(res, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(heartbeat);
  }
  res.end();
}

/** Returns the event of a line. A carriage return, which would end the field, starts another field. */
const eventOf = (line: string): string =>
  `${line
    .split(/\r\n?|\n/u)
    .map((part) => `data: ${part}\n`)
    .join('')}\n`;
