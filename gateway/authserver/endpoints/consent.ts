import type { Request, Response } from 'express';
import type { Operation } from '../../http/endpoint/operation.ts';
import { redirectTo } from '../../http/endpoint/replies.ts';
import type { Client } from '../storage/client.ts';
import { CONSENT_FIELDS, DECISIONS } from '../consent/consent-page.ts';
import { mayRemember } from '../consent/remembering.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../core/metadata.ts';
import { PageRefused } from '../http/refused.ts';
import { formOf, queryOf } from '../http/parameters.ts';
import { ask, isAsked, leave, type Visit } from '../login/approval.ts';
import { refusalUrl } from '../login/code.ts';
import { rememberConsent } from '../login/consent-cookie.ts';
import { clearFlowCookie, flowCookieOf, giveFlowCookie, isCsrfToken } from '../login/flow-cookie.ts';
import { isSealed, markAnswered, openSealed, sealVisit } from '../login/sealed-visit.ts';
import { newTsid } from '../login/tsid.ts';
import { bind, isBeforeConsent, stepMs } from '../login/transition.ts';
import type { Transaction } from '../storage/records.ts';

/**
 * Takes the user's answer. The page itself stands here too where browsers come to the authorization endpoint under
 * another origin. @see docs/authorization-server.md, Consent
 */
export const consentEndpoint = (context: AuthServerContext): readonly Operation[] => [
  {
    ...{ method: 'GET', paths: pathsOf(context), answers: 'page' },
    handle: async (req, res) => {
      const visit = await openVisit(req, res, context);
      const client = await clientOf(visit, context);
      if (isAsked(req, visit.transaction, context)) ask(res, visit, client, context);
      else await leave(req, res, await take(visit, context, 'sign_in_over'), context);
    },
  },
  {
    ...{ method: 'POST', paths: pathsOf(context), answers: 'page' },
    handle: async (req, res) => {
      refuseForeignOrigin(req, context);
      const { visit, approved } = await answeredVisit(req, context);
      if (approved) await approve(req, res, visit, context);
      else await deny(res, visit, context);
    },
  },
];

/** Where the page is sent for may be another path than that below the issuer: behind `authorizationEndpointBaseUrl`. */
const pathsOf = ({ settings }: AuthServerContext): readonly string[] => [
  ...new Set([endpointPath('consent', settings.urls.issuer), new URL(settings.consentUrl).pathname]),
];

/** The visit of the page's address: bound to this browser now if to none yet, or before. */
async function openVisit(req: Request, res: Response, context: AuthServerContext): Promise<Visit> {
  const { transactions } = context.store;
  const handle = queryOf(req).one('transaction');
  if (handle === undefined) throw new PageRefused('bad_request', { parameter: 'transaction' });
  const found = await unanswered(handle, context);
  if (!found || !isBeforeConsent(found)) throw new PageRefused('sign_in_over');
  if (found.cookieHash !== undefined) {
    const cookie = flowCookieOf(req, found, context);
    if (!cookie) throw foreignBrowser(found, context, 'other_browser');
    return { handle, transaction: found, cookie };
  }
  if (isSealed(handle)) return beginAnew(req, res, found, context);
  const unbound = await transactions.take(handle); // of two browsers at once, one gets it
  if (!unbound) throw new PageRefused('sign_in_over');
  const cookie = giveFlowCookie(req, res, context);
  const transaction = bind(unbound, cookie.hash);
  const isKept = await transactions.put(handle, transaction, stepMs(transaction, context.now()));
  return { handle: isKept ? handle : sealVisit(transaction, context), transaction, cookie };
}

/**
 * A sealed address was never in the store, so that several browsers may open it, as they may the authorization request
 * itself: each begins a login attempt of its own.
 */
function beginAnew(req: Request, res: Response, found: Transaction, context: AuthServerContext): Visit {
  const cookie = giveFlowCookie(req, res, context);
  const transaction = bind({ ...found, tsid: newTsid(context.random) }, cookie.hash);
  return { handle: sealVisit(transaction, context), transaction, cookie };
}

function foreignBrowser(
  { clientId }: Transaction,
  { emit }: AuthServerContext,
  page: 'other_browser' | 'consent_out_of_date',
): PageRefused {
  emit('login_foreign_browser', { endpoint: 'consent', client_id: clientId });
  return new PageRefused(page, { client_id: clientId });
}

async function clientOf({ transaction }: Visit, { clients }: AuthServerContext): Promise<Client> {
  const client = await clients.known(transaction.clientId);
  if (!client) throw new PageRefused('unknown_client', { client_id: transaction.clientId });
  return client;
}

/**
 * Only our own page posts here. Its `no-referrer` makes `Origin` say `null`; browsers that send no `Sec-Fetch-Site`, as
 * over plain http, are left to the token of the form.
 */
function refuseForeignOrigin({ headers }: Request, { settings }: AuthServerContext): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isOurs = origin === undefined || origin === 'null' || origin === new URL(settings.consentUrl).origin;
  if (isOurs && (site === undefined || site === 'same-origin')) return;
  throw new PageRefused('consent_out_of_date', { origin, site });
}

/** The visit that the form is about, and what its user has said. All checks come before anything changes. */
async function answeredVisit(
  req: Request,
  context: AuthServerContext,
): Promise<{ readonly visit: Visit; readonly approved: boolean }> {
  const form = await formOf(req);
  const [handle, csrf, decision] = [CONSENT_FIELDS.transaction, CONSENT_FIELDS.csrf, CONSENT_FIELDS.decision].map(
    (field) => form.one(field),
  );
  const isDecision = decision === DECISIONS.approve || decision === DECISIONS.deny;
  if (form.duplicated.length > 0 || !isDecision) throw new PageRefused('bad_request');
  const transaction = await unanswered(handle ?? '', context);
  if (handle === undefined || !transaction || !isBeforeConsent(transaction))
    throw new PageRefused('consent_out_of_date');
  const cookie = flowCookieOf(req, transaction, context);
  if (!cookie) throw foreignBrowser(transaction, context, 'consent_out_of_date');
  if (!isCsrfToken(csrf ?? '', handle, cookie, context)) throw new PageRefused('consent_out_of_date');
  return { visit: { handle, transaction, cookie }, approved: decision === DECISIONS.approve };
}

async function approve(req: Request, res: Response, visit: Visit, context: AuthServerContext): Promise<void> {
  const { transaction } = visit;
  const taken = await take(visit, context, 'consent_out_of_date');
  context.emit('consent_granted', { client_id: transaction.clientId, scopes: transaction.scopes });
  if (mayRemember(transaction, context.settings.consent.mode)) rememberConsent(req, res, transaction, context);
  await leave(req, res, taken, context);
}

async function deny(res: Response, visit: Visit, context: AuthServerContext): Promise<void> {
  const taken = await take(visit, context, 'consent_out_of_date');
  context.emit('consent_denied', { client_id: taken.transaction.clientId });
  clearFlowCookie(res, visit.cookie.hash, context);
  redirectTo(res, refusalUrl('consent_denied', taken.transaction, context));
}

const unanswered = async (handle: string, context: AuthServerContext): Promise<Transaction | undefined> =>
  isSealed(handle) ? openSealed(handle, context) : context.store.transactions.get(handle);

/** Once: who answers twice finds nothing the second time. */
async function take(
  visit: Visit,
  context: AuthServerContext,
  page: 'consent_out_of_date' | 'sign_in_over',
): Promise<Visit> {
  if (isSealed(visit.handle)) {
    if (await markAnswered(visit.handle, context)) return visit;
    throw new PageRefused(page);
  }
  const transaction = await context.store.transactions.take(visit.handle);
  if (!transaction) throw new PageRefused(page);
  return { ...visit, transaction };
}
