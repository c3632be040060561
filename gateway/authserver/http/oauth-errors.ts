import type { Request, Response } from 'express';
import { loggedPath, markLogged } from '../../http/log-refusals.ts';
import { requestIdOf } from '../../http/head/added-headers.ts';
import { NO_STORE, sendJson } from '../../http/endpoint/operation.ts';
import { RequestError, type InputProblem, type RequestFault } from '../../http/endpoint/request-error.ts';
import type { ErrorAnswers } from '../../http/endpoint/router.ts';
import { FORM } from '../../http/endpoint/body-text.ts';
import { refuseTooLarge } from '../../http/body/refuse-too-large.ts';
import { framesOf } from '../../telemetry/log.ts';
import { errorPage, type ErrorPageName } from '../consent/error-page.ts';
import { wireError, type OAuthError, type RefusalReason } from '../core/refusal.ts';
import type { EmitEvent } from '../events.ts';
import { StoreUnavailable } from '../storage/store.ts';
import { sendPage } from '../../http/page/page.ts';
import { PageRefused, Refused, type RefusedFacts } from './refused.ts';
import type { Logger } from '../../contract/logger.ts';

const STORE_RETRY_SECONDS = 5;
const NO_DETAILS: RefusedFacts = {};
const HTML = 'text/html; charset=utf-8';

interface RefusalDeps {
  /** Host of the issuer, which pages show. */
  readonly server: string;
  /** Returns the URL of the page of the virtual server; undefined when only clients know it. */
  readonly pageUrl?: (() => string | undefined) | undefined;
  readonly emit: EmitEvent;
  readonly log: Logger;
}

/** Turns everything that an endpoint throws into its answer and one line of the log. */
export const oauthErrors = (deps: RefusalDeps): ErrorAnswers => ({
  methodNotAllowed: (res, message) => {
    sendJson(res, 405, { error: 'method_not_allowed', error_description: message });
  },
  thrown: ({ answers }, req, res, thrown) => {
    const refused = asRefused(thrown);
    report(deps, req, res, thrown, refused);
    if (refused instanceof Refused && refused.reason === 'client_left') res.destroy();
    else if (answers !== 'page' && refused instanceof Refused) answerJson(req, res, refused);
    else answerPage(deps, req, res, refused);
  },
});

function asRefused(thrown: unknown): Refused | PageRefused {
  if (thrown instanceof Refused || thrown instanceof PageRefused) return thrown;
  if (thrown instanceof RequestError) return refusedFor(thrown.fault);
  if (thrown instanceof StoreUnavailable) return new Refused('store_down', { retryAfterSeconds: STORE_RETRY_SECONDS });
  return new Refused('internal');
}

function refusedFor(fault: RequestFault): Refused {
  switch (fault.kind) {
    case 'media_type':
      return new Refused(fault.expected === FORM ? 'not_a_form' : 'registration_type');
    case 'too_large':
      return new Refused('body_too_large');
    case 'client_left':
      return new Refused('client_left');
    case 'invalid_input': {
      if (fault.problems.some(({ reason }) => reason === 'too_many')) return new Refused('parameters_too_many');
      if (fault.problems.some(({ reason }) => reason === 'repeated')) return new Refused('parameter_duplicated');
      if (fault.problems.some(({ path }) => path === 'form.token')) return new Refused('token_missing');
      const [problem] = fault.problems;
      return new Refused('parameter_invalid', { description: problem && describable(problem) });
    }
  }
}

/** Describes a problem in the characters that `error_description` allows. @see RFC 6749 §5.2 */
const describable = ({ path, message }: InputProblem): string =>
  `${path} ${message}`.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/gu, "'");

/** Logs one line for each refusal, with the request id that the answer shows. */
function report(
  { log, emit }: RefusalDeps,
  req: Request,
  res: Response,
  thrown: unknown,
  refused: Refused | PageRefused,
): void {
  const where = { path: loggedPath(req), request_id: requestIdOf(res) };
  markLogged(res);
  if (refused instanceof PageRefused) {
    emit('request_refused', { ...where, reason: refused.page, ...refused.facts });
    return;
  }
  const { reason, details } = refused;
  if (reason === 'internal') log.error('an endpoint failed unexpectedly', { ...where, error: framesOf(thrown) });
  else if (reason === 'store_down') log.warn('the store is unavailable', { ...where, error: String(thrown) });
  emit(reason === 'rate_limited' ? 'rate_limited' : 'request_refused', { ...where, reason, ...details.facts });
}

function answerJson(req: Request, res: Response, { reason, details }: Refused): void {
  const error = wireError(reason);
  if (reason === 'body_too_large') {
    const body = JSON.stringify({ error: error.error, error_description: error.description });
    refuseTooLarge(req, res.set(NO_STORE), body, 'application/json; charset=utf-8');
    return;
  }
  sendError(res, { ...error, description: details.description ?? error.description }, details);
}

function answerPage(
  { server, pageUrl }: RefusalDeps,
  req: Request,
  res: Response,
  refused: Refused | PageRefused,
): void {
  const name = refused instanceof PageRefused ? refused.page : pageFor(refused.reason);
  const { retryAfterSeconds, document } = refused instanceof Refused ? refused.details : NO_DETAILS;
  const cause = refused instanceof Refused && name === 'bad_request' ? wireError(refused.reason) : undefined;
  const page = errorPage(name, {
    ...{ server, requestId: requestIdOf(res), retryAfterSeconds, cause, document },
    pageUrl: pageUrl?.(),
  });
  if (!(refused instanceof Refused)) sendPage(res, page);
  else if (refused.reason === 'body_too_large') refuseTooLarge(req, res.set(page.headers), page.body, HTML);
  else sendPage(res, refused.reason === 'not_a_form' ? { ...page, status: wireError(refused.reason).status } : page);
}

function pageFor(reason: RefusalReason): ErrorPageName {
  switch (reason) {
    case 'client_unknown':
    case 'client_id_too_long':
      return 'unknown_client';
    case 'client_document':
      return 'client_document';
    case 'client_document_unreachable':
      return 'client_document_unreachable';
    case 'redirect_uri_missing':
    case 'redirect_uri_mismatch':
    case 'logout_redirect':
      return 'redirect_uri';
    case 'rate_limited':
      return 'too_many_requests';
    case 'store_down':
      return 'unavailable';
    case 'internal':
      return 'server_error';
    default:
      return 'bad_request';
  }
}

interface ErrorHeaders {
  readonly retryAfterSeconds?: number | undefined;
  /** Value of `WWW-Authenticate`. */
  readonly challenge?: string | undefined;
}

/** Sends an error of an OAuth endpoint. @see RFC 6749 §5.2 */
function sendError(
  res: Response,
  { status, error, description }: OAuthError,
  { retryAfterSeconds, challenge }: ErrorHeaders = {},
): void {
  if (retryAfterSeconds !== undefined) res.set('Retry-After', String(retryAfterSeconds));
  if (challenge !== undefined) res.set('WWW-Authenticate', challenge);
  sendJson(res, status, { error, error_description: description });
}
