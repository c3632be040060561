import type { Request, Response } from 'express';
import { redirectTo } from '../../http/endpoint/operation.ts';
import type { Client, LoginAttempt } from '../storage/records.ts';
import { consentPage, describeScopes, type ConsentQuestion } from '../consent/consent-page.ts';
import { isTrusted, mayRemember } from '../consent/remembering.ts';
import type { AuthServerContext } from '../context.ts';
import { sendPage } from '../../http/page/page.ts';
import { Refused } from '../http/refused.ts';
import { isConsentRemembered, REMEMBERED_DAYS } from './consent-cookie.ts';
import { carryInCookie, clearFlowCookie, csrfToken, type FlowCookie } from './flow-cookie.ts';
import { continueLogin, type NextRedirect } from './legs.ts';

/** A login attempt before consent, with the cookie of its browser. */
export interface PendingAttempt {
  /** Key in the store, or the sealed login attempt itself. */
  readonly handle: string;
  readonly attempt: LoginAttempt;
  readonly cookie: FlowCookie;
}

/** Returns true if the user must consent before the browser is sent to an identity provider. */
export function needsConsent(req: Request, attempt: LoginAttempt, context: AuthServerContext): boolean {
  const { consent } = context.settings;
  if (attempt.askConsent === true) return true;
  if (isTrusted(attempt.clientId, consent)) return false;
  return !mayRemember(attempt, consent.mode) || !isConsentRemembered(req, attempt, context);
}

function consentQuestion(
  { handle, attempt, cookie }: PendingAttempt,
  client: Client,
  context: AuthServerContext,
): ConsentQuestion {
  const { settings, upstreams } = context;
  const { redirectUri, scopes, resource, remaining } = attempt;
  const { client_id: id, metadata } = client;
  const source = client.source === 'document' ? 'document' : 'registered';
  return {
    server: new URL(settings.urls.issuer).host,
    client: { id, source, name: metadata.client_name },
    redirectUri,
    scopes: describeScopes(scopes),
    resource: { uri: resource, name: settings.ownResource?.uri === resource ? settings.ownResource.name : undefined },
    providers: remaining.map((name) => ({ name, host: upstreams.get(name)?.host })),
    ...(mayRemember(attempt, settings.consent.mode) && { rememberedDays: REMEMBERED_DAYS }),
    form: {
      action: new URL(settings.consentUrl).pathname,
      attempt: handle,
      csrf: csrfToken(handle, cookie, context),
    },
  };
}

/** Sends the consent page. The user's answer goes to the consent endpoint. */
export function showConsentPage(
  res: Response,
  pending: PendingAttempt,
  client: Client,
  context: AuthServerContext,
): void {
  sendPage(res, consentPage(consentQuestion(pending, client, context)));
}

/** Redirects to the first provider, or back to the client with an error if the provider is unavailable. */
export async function startFirstLeg(
  req: Request,
  res: Response,
  { attempt, cookie }: Omit<PendingAttempt, 'handle'>,
  context: AuthServerContext,
): Promise<void> {
  redirectBrowser(req, res, await continueLogin(context, attempt), cookie, context);
}

const BUSY_SECONDS = 5;

/**
 * Redirects the browser, and stores or clears its cookie. Throws `Refused` when the login attempt fits neither the store nor a
 * cookie.
 */
export function redirectBrowser(
  req: Request,
  res: Response,
  { location, isOver, carried }: NextRedirect,
  cookie: FlowCookie,
  context: AuthServerContext,
): void {
  if (isOver) clearFlowCookie(res, cookie.hash, context);
  if (carried !== undefined && !carryInCookie(req, res, cookie, carried, context))
    throw new Refused('rate_limited', { retryAfterSeconds: BUSY_SECONDS });
  redirectTo(res, location);
}
