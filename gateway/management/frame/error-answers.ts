import { STATUS_CODES } from 'node:http';
import type { Request, Response } from 'express';
import type { Logger } from '../../contract/logger.ts';
import { loggedPath, markLogged } from '../../http/log-refusals.ts';
import { requestIdOf } from '../../http/head/added-headers.ts';
import { OperationError, RequestError, type RequestFault } from '../../http/endpoint/request-error.ts';
import { refuseUnread } from '../../http/body/refuse-too-large.ts';
import { stackOf } from '../../telemetry/log.ts';
import type { ManagementOperation } from '../operation.ts';
import { COMMON_ERRORS, commonFailure } from './common-failures.ts';
import { OperationTimeout } from './time-limit.ts';

/** Error as the client receives it. */
interface ErrorAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Sent as `{"code", "message"}` instead of plain text. */
  readonly isStructured: boolean;
  /** Further members of a structured answer. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** Error of an operation that would open one stream too many. */
export const STREAM_LIMIT_ERROR = {
  code: 'too_many_streams',
  status: 503,
  message: 'too many streams are open: close one, or read without follow',
};

/** Answers an error that an operation, or the reading of its input, has thrown. */
export function createErrorHandler(operation: ManagementOperation, log: Logger) {
  return (req: Request, res: Response, thrown: unknown): void => {
    if (thrown instanceof RequestError && thrown.fault.kind === 'client_left') {
      res.destroy();
      return;
    }
    const answer = declaredAnswer(operation, thrown) ?? commonAnswer(operation, log, res, thrown);
    if (!answer) logFailure(log, thrown, req, res);
    sendErrorAnswer(req, res, answer ?? internalError(operation));
  };
}

/** Sends an error as problem details if the client asks for them (RFC 9457), else as plain text or as `{"code", "message"}`. */
export function sendErrorAnswer(req: Request, res: Response, answer: ErrorAnswer): void {
  const [type, text] = encode(req, answer);
  res.setHeader('content-type', type);
  if (answer.status === 413) {
    refuseUnread(req, res, 413, Buffer.from(text), { 'content-type': type });
    return;
  }
  res.status(answer.status).end(text);
}

/** Returns true for a client that asks for problem details. */
export const wantsProblem = ({ headers }: Request): boolean =>
  (headers.accept ?? '').toLowerCase().includes('application/problem+json');

function encode(
  req: Request,
  { status, code, message, isStructured, members }: ErrorAnswer,
): [type: string, text: string] {
  if (wantsProblem(req)) {
    const problem = {
      type: 'about:blank',
      title: STATUS_CODES[status] ?? '',
      status,
      detail: message,
      code,
      ...members,
    };
    return ['application/problem+json', `${JSON.stringify(problem)}\n`];
  }
  if (isStructured) return ['application/json', `${JSON.stringify({ code, message, ...members })}\n`];
  if (status === 504 && message === '') return ['text/plain; charset=utf-8', ''];
  return ['text/plain; charset=utf-8', `${message}\n`];
}

function declaredAnswer(operation: ManagementOperation, thrown: unknown): ErrorAnswer | undefined {
  if (thrown instanceof RequestError) return requestAnswer(operation, thrown);
  if (thrown instanceof OperationTimeout) return { status: 504, code: 'timeout', message: '', isStructured: false };
  return thrown instanceof OperationError ? operationAnswer(operation, thrown) : undefined;
}

function operationAnswer(
  operation: ManagementOperation,
  { code, detail, members }: OperationError,
): ErrorAnswer | undefined {
  const declared = Object.hasOwn(operation.errors, code) ? operation.errors[code] : undefined;
  if (!declared) return undefined;
  const isStructured = operation.hasStructuredErrors === true || declared.isStructured === true;
  return { status: declared.status, code, message: detail ?? declared.message, isStructured, members };
}

function requestAnswer(operation: ManagementOperation, { fault }: RequestError): ErrorAnswer {
  const problems = fault.kind === 'invalid_input' ? fault.problems : [];
  const [, code] =
    Object.entries(operation.pathErrors ?? {}).find(([name]) => problems.some(({ path }) => path === `path.${name}`)) ??
    [];
  const declared = code === undefined ? undefined : operationAnswer(operation, new OperationError(code));
  return declared ?? { ...faultAnswer(fault), isStructured: operation.hasStructuredErrors === true };
}

function faultAnswer(fault: RequestFault): Omit<ErrorAnswer, 'isStructured'> {
  switch (fault.kind) {
    case 'too_large':
      return { status: 413, code: 'body_too_large', message: 'Request Entity Too Large' };
    case 'invalid_input': {
      const message = fault.problems.map(({ path, message: what }) => `${path} ${what}`).join('; ');
      return { status: 400, code: 'bad_request', message };
    }
    default:
      return { status: 400, code: 'bad_request', message: 'the body must be JSON without a content encoding' };
  }
}

function internalError({ hasStructuredErrors = false }: ManagementOperation): ErrorAnswer {
  return { status: 500, code: 'internal_error', message: 'Internal Server Error', isStructured: hasStructuredErrors };
}

/** Returns the answer to a failure that every operation may meet, and logs it without a stack; undefined for another error. */
function commonAnswer(
  operation: ManagementOperation,
  log: Logger,
  res: Response,
  thrown: unknown,
): ErrorAnswer | undefined {
  const failure = commonFailure(thrown);
  if (!failure) return undefined;
  const { code, message } = failure;
  const { status } = operation.errors[code] ?? COMMON_ERRORS[code];
  const problem = thrown instanceof Error ? thrown.message : message;
  log.warn('request failed', { status, code, problem, path: loggedPath(res.req), request_id: requestIdOf(res) });
  markLogged(res);
  const { hasStructuredErrors = false, errors } = operation;
  const isStructured = hasStructuredErrors || errors[code]?.isStructured === true;
  // the registry protocol has one code for 500
  return { status, code: hasStructuredErrors && status === 500 ? 'internal_error' : code, message, isStructured };
}

/** Logs an error that no operation declares. */
export function logFailure(log: Logger, error: unknown, req: Request, res: Response): void {
  log.error('request failed unexpectedly', {
    error: stackOf(error),
    path: loggedPath(req),
    request_id: requestIdOf(res),
  });
  markLogged(res);
}
