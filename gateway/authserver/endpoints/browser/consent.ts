import type { Request, Response } from 'express';
import { type Operation, redirectTo } from '../../../http/endpoint/operation.ts';
import type { Client, LoginAttempt } from '../../storage/records.ts';
import { CONSENT_FIELDS, DECISIONS } from '../../consent/consent-page.ts';
import { mayRemember } from '../../consent/remembering.ts';
import type { AuthServerContext } from '../../context.ts';
import { endpointPath } from '../../../contract/paths/public-paths.ts';
import { PageRefused } from '../../http/refused.ts';
import { readForm, readQuery } from '../../http/requests.ts';
import { needsConsent, showConsentPage, startFirstLeg, type PendingAttempt } from '../../login/approval.ts';
import { refusalUrl } from '../../login/code.ts';
import { rememberConsent } from '../../login/consent-cookie.ts';
import { clearFlowCookie, findFlowCookie, issueFlowCookie, isCsrfToken } from '../../login/flow-cookie.ts';
import { isSealed, markAnswered, openSealed, sealAttempt } from '../../login/sealed-attempt.ts';
import { bindToBrowser, isBeforeConsent, newTsid, stepMs } from '../../login/transition.ts';

/**
 * Receives the user's answer. It also shows the consent page when the authorization endpoint has another origin.
 * @see docs/authorization-server.md, Consent
 */
export const consentEndpoint = (context: AuthServerContext): readonly Operation[] => [
  {
    ...{ method: 'GET', paths: pathsOf(context), answers: 'page' },
    handle: async (req, res) => {
      const pending = await openAttempt(req, res, context);
      const client = await clientOf(pending, context);
      if (needsConsent(req, pending.attempt, context)) showConsentPage(res, pending, client, context);
      else await startFirstLeg(req, res, await take(pending, context, 'sign_in_over'), context);
    },
  },
  {
    ...{ method: 'POST', paths: pathsOf(context), answers: 'page' },
    handle: async (req, res) => {
      rejectForeignOrigin(req, context);
      const { pending, approved } = await answeredAttempt(req, context);
      if (approved) await approve(req, res, pending, context);
      else await deny(res, pending, context);
    },
  },
];

/** Returns the path below the issuer and the path of the consent page, which `authorizationEndpointBaseUrl` may change. */
const pathsOf = ({ settings }: AuthServerContext): readonly string[] => [
  ...new Set([endpointPath('consent', settings.urls.issuer), new URL(settings.consentUrl).pathname]),
];

/** Returns the login attempt of the page's URL, bound to this browser. Throws if it is bound to another one. */
async function openAttempt(req: Request, res: Response, context: AuthServerContext): Promise<PendingAttempt> {
  const { loginAttempts } = context.store;
  const handle = readQuery(req).one('transaction');
  if (handle === undefined) throw new PageRefused('bad_request', { parameter: 'transaction' });
  const found = await unanswered(handle, context);
  if (!found || !isBeforeConsent(found)) throw new PageRefused('sign_in_over');
  if (found.cookieHash !== undefined) {
    const cookie = findFlowCookie(req, found, context);
    if (!cookie) throw foreignBrowser(found, context, 'other_browser');
    return { handle, attempt: found, cookie };
  }
  if (isSealed(handle)) return startFromSealed(req, res, found, context);
  const unbound = await loginAttempts.take(handle); // succeeds for one of two concurrent browsers
  if (!unbound) throw new PageRefused('sign_in_over');
  const cookie = issueFlowCookie(req, res, context);
  const attempt = bindToBrowser(unbound, cookie.hash);
  const isKept = await loginAttempts.put(handle, attempt, stepMs(attempt, context.now()));
  return { handle: isKept ? handle : sealAttempt(attempt, context), attempt, cookie };
}

/**
 * Starts a separate login attempt from a sealed URL. The sealed attempt is not in the store, so that several browsers may open
 * it, as they may open the authorization request itself.
 */
function startFromSealed(req: Request, res: Response, found: LoginAttempt, context: AuthServerContext): PendingAttempt {
  const cookie = issueFlowCookie(req, res, context);
  const attempt = bindToBrowser({ ...found, tsid: newTsid(context.random) }, cookie.hash);
  return { handle: sealAttempt(attempt, context), attempt, cookie };
}

function foreignBrowser(
  { clientId }: LoginAttempt,
  { emit }: AuthServerContext,
  page: 'other_browser' | 'consent_out_of_date',
): PageRefused {
  emit('login_foreign_browser', { endpoint: 'consent', client_id: clientId });
  return new PageRefused(page, { client_id: clientId });
}

async function clientOf({ attempt }: PendingAttempt, { clients }: AuthServerContext): Promise<Client> {
  const client = await clients.known(attempt.clientId);
  if (!client) throw new PageRefused('unknown_client', { client_id: attempt.clientId });
  return client;
}

/**
 * Rejects a form of another origin. The consent page sends `Origin: null`, because of its `no-referrer`. Browsers send no
 * `Sec-Fetch-Site` over plain http; there only the CSRF token protects the form.
 */
function rejectForeignOrigin({ headers }: Request, { settings }: AuthServerContext): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isSameOrigin = origin === undefined || origin === 'null' || origin === new URL(settings.consentUrl).origin;
  if (isSameOrigin && (site === undefined || site === 'same-origin')) return;
  throw new PageRefused('consent_out_of_date', { origin, site });
}

/** Validates the form, and returns its login attempt and decision. Nothing changes before all checks have passed. */
async function answeredAttempt(
  req: Request,
  context: AuthServerContext,
): Promise<{ readonly pending: PendingAttempt; readonly approved: boolean }> {
  const form = await readForm(req);
  const [handle, csrf, decision] = [CONSENT_FIELDS.attempt, CONSENT_FIELDS.csrf, CONSENT_FIELDS.decision].map((field) =>
    form.one(field),
  );
  const isDecision = decision === DECISIONS.approve || decision === DECISIONS.deny;
  if (form.duplicated.length > 0 || !isDecision) throw new PageRefused('bad_request');
  const attempt = await unanswered(handle ?? '', context);
  if (handle === undefined || !attempt || !isBeforeConsent(attempt)) throw new PageRefused('consent_out_of_date');
  const cookie = findFlowCookie(req, attempt, context);
  if (!cookie) throw foreignBrowser(attempt, context, 'consent_out_of_date');
  if (!isCsrfToken(csrf ?? '', handle, cookie, context)) throw new PageRefused('consent_out_of_date');
  return { pending: { handle, attempt, cookie }, approved: decision === DECISIONS.approve };
}

async function approve(
  req: Request,
  res: Response,
  pending: PendingAttempt,
  context: AuthServerContext,
): Promise<void> {
  const { attempt } = pending;
  const taken = await take(pending, context, 'consent_out_of_date');
  context.emit('consent_granted', { client_id: attempt.clientId, scopes: attempt.scopes });
  if (mayRemember(attempt, context.settings.consent.mode)) rememberConsent(req, res, attempt, context);
  await startFirstLeg(req, res, taken, context);
}

async function deny(res: Response, pending: PendingAttempt, context: AuthServerContext): Promise<void> {
  const taken = await take(pending, context, 'consent_out_of_date');
  context.emit('consent_denied', { client_id: taken.attempt.clientId });
  clearFlowCookie(res, pending.cookie.hash, context);
  redirectTo(res, refusalUrl('consent_denied', taken.attempt, context));
}

const unanswered = async (handle: string, context: AuthServerContext): Promise<LoginAttempt | undefined> =>
  isSealed(handle) ? openSealed(handle, context) : context.store.loginAttempts.get(handle);

/** Removes the login attempt from the store. Throws the second time. */
async function take(
  pending: PendingAttempt,
  context: AuthServerContext,
  page: 'consent_out_of_date' | 'sign_in_over',
): Promise<PendingAttempt> {
  if (isSealed(pending.handle)) {
    if (await markAnswered(pending.handle, context)) return pending;
    throw new PageRefused(page);
  }
  const attempt = await context.store.loginAttempts.take(pending.handle);
  if (!attempt) throw new PageRefused(page);
  return { ...pending, attempt };
}
