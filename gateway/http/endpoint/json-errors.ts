import type { Request, Response } from 'express';
import { answerInternalError } from '../errors.ts';
import { refuseTooLarge } from '../body/refuse-too-large.ts';
import { type Operation, NO_STORE, sendJson } from './operation.ts';
import { OperationError, RequestError, type RequestFault } from './request-error.ts';
import type { ErrorAnswers } from './router.ts';
import type { Logger } from '../../contract/logger.ts';

/** Answers errors as `{"error": code, "message": text}`. An error that the operation does not declare becomes 500. */
export const jsonErrors = (log: Logger): ErrorAnswers => ({
  methodNotAllowed: (res, message) => {
    sendJson(res, 405, { error: 'method_not_allowed', message });
  },
  thrown: (operation, req, res, thrown) => {
    if (thrown instanceof RequestError) answerFault(req, res, thrown.fault);
    else if (!answerDeclared(operation, res, thrown)) answerInternalError(log, thrown, req, res.set(NO_STORE));
  },
});

function answerFault(req: Request, res: Response, fault: RequestFault): void {
  switch (fault.kind) {
    case 'media_type':
      sendJson(res, 415, { error: 'unsupported_media_type', message: `send ${fault.expected} without an encoding` });
      return;
    case 'too_large': {
      const message = `the body is longer than ${String(fault.limit)} bytes`;
      const body = JSON.stringify({ error: 'body_too_large', message });
      refuseTooLarge(req, res.set(NO_STORE), body, 'application/json; charset=utf-8');
      return;
    }
    case 'client_left':
      res.destroy();
      return;
    case 'invalid_input': {
      const [first] = fault.problems;
      const message = first ? `${first.path} ${first.message}` : 'the request is not valid';
      sendJson(res, 400, { error: 'invalid_request', message, problems: fault.problems });
    }
  }
}

/** Returns false for an error that the operation does not declare. */
function answerDeclared({ errors = {} }: Operation, res: Response, thrown: unknown): boolean {
  if (!(thrown instanceof OperationError)) return false;
  const declared = Object.hasOwn(errors, thrown.code) ? errors[thrown.code] : undefined;
  if (!declared) return false;
  sendJson(res, declared.status, { error: thrown.code, message: thrown.detail ?? declared.message });
  return true;
}
