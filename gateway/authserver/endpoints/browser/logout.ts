import type { Request, Response } from 'express';
import { type Operation, redirectTo } from '../../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../../context.ts';
import { logoutResponseUrl } from '../../core/authorization.ts';
import { endpointPath } from '../../../contract/paths/public-paths.ts';
import { hasTag, isGenuine, issueToken, RANDOM_BYTES, tagOf } from '../../core/opaque-token.ts';
import type { RequestParameters } from '../../core/request-parameters.ts';
import { sendPage, renderPage, type Page } from '../../../http/page/page.ts';
import { PageRefused, Refused } from '../../http/refused.ts';
import { readForm, readQuery } from '../../http/requests.ts';
import { cookieName, cookiesNamed, setCookie } from '../../login/cookies.ts';
import { forgetConsents } from '../../login/consent-cookie.ts';
import { readIdTokenHint, type IdTokenHint } from '../../tokens/presented-token.ts';
import { markup } from '../../../http/page/markup.ts';

/**
 * Ends the login that `id_token_hint` names. Without a hint, it offers to delete the approvals stored in this browser.
 * @see OpenID Connect RP-Initiated Logout §2
 */
export const logoutEndpoint = (context: AuthServerContext): readonly Operation[] => {
  const paths = [endpointPath('logout', context.settings.urls.issuer)];
  return [
    {
      ...{ method: 'GET', paths, answers: 'page' },
      handle: (req, res) => logout(context, res, readQuery(req)),
    },
    {
      ...{ method: 'POST', paths, answers: 'page' },
      handle: async (req, res) => {
        const form = await readForm(req);
        const csrf = form.one(LOGOUT_FIELD);
        if (csrf === undefined) await logout(context, res, form);
        else deleteApprovals(context, req, res, csrf);
      },
    },
  ];
};

async function logout(context: AuthServerContext, res: Response, asked: RequestParameters): Promise<void> {
  if (asked.duplicated.length > 0) throw new PageRefused('bad_request', { cause: 'parameter_duplicated' });
  const token = asked.one('id_token_hint');
  const hint = token === undefined ? undefined : await readIdTokenHint(context, token);
  if (!hint) {
    showLogoutPage(context, res);
    return;
  }
  const target = await redirectTarget(context, hint, asked);
  await endLogin(context, hint);
  if (target === undefined) sendPage(res, loggedOutPage(hostOf(context), 'login'));
  else redirectTo(res, target);
}

const MAX_STATE_BYTES = 2048;

/** Returns the requested redirect URL, if any. Throws `Refused` if the client has not registered it. */
async function redirectTarget(
  { clients }: AuthServerContext,
  { clientId }: IdTokenHint,
  asked: RequestParameters,
): Promise<string | undefined> {
  const state = asked.one('state');
  if ((asked.one('client_id') ?? clientId) !== clientId || Buffer.byteLength(state ?? '') > MAX_STATE_BYTES)
    throw new PageRefused('bad_request', { client_id: clientId });
  const target = asked.one('post_logout_redirect_uri');
  if (target === undefined) return undefined;
  const registered = (await clients.known(clientId))?.metadata.post_logout_redirect_uris ?? [];
  if (!registered.includes(target)) throw new Refused('logout_redirect', { facts: { client_id: clientId } });
  return logoutResponseUrl(target, state);
}

async function endLogin({ store, sessions, emit }: AuthServerContext, hint: IdTokenHint): Promise<void> {
  const family = await store.families.get(hint.familyId);
  if (family?.clientId !== hint.clientId || family.login.userId !== hint.userId) return;
  await sessions.end(family);
  emit('revoked', { client_id: family.clientId, sub: family.login.userId, family: family.id });
}

const COOKIE = 'vmcp-logout';
const COOKIE_SECONDS = 600;
const csrfText = (cookie: string): string => `logout ${cookie}`;

function showLogoutPage(context: AuthServerContext, res: Response): void {
  const { settings, secrets, random } = context;
  const cookie = issueToken('cookie', random(RANDOM_BYTES), secrets()).reveal();
  setCookie(res, cookieName(COOKIE, settings), cookie, { ...settings, maxAgeSeconds: COOKIE_SECONDS });
  const action = endpointPath('logout', settings.urls.issuer);
  sendPage(res, logoutPage({ server: hostOf(context), action, csrf: tagOf('csrf', csrfText(cookie), secrets()) }));
}

function deleteApprovals(context: AuthServerContext, req: Request, res: Response, csrf: string): void {
  const { settings, secrets } = context;
  const name = cookieName(COOKIE, settings);
  const isConfirmed = cookiesNamed(req, name).some(
    (cookie) => isGenuine('cookie', cookie, secrets()) && hasTag('csrf', csrfText(cookie), csrf, secrets()),
  );
  if (!isConfirmed) throw new PageRefused('consent_out_of_date');
  forgetConsents(req, res, settings);
  setCookie(res, name, '', { ...settings, maxAgeSeconds: 0 });
  sendPage(res, loggedOutPage(hostOf(context), 'approvals'));
}

const hostOf = ({ settings }: AuthServerContext): string => new URL(settings.urls.issuer).host;

/** Field name of the CSRF token. */
const LOGOUT_FIELD = 'csrf';

interface LogoutQuestion {
  /** Host of the issuer. */
  readonly server: string;
  /** Path that receives the form. */
  readonly action: string;
  /** Bound to a cookie of this browser. */
  readonly csrf: string;
}

/** Page that offers to delete the approvals in this browser, for a logout that names no login. */
function logoutPage({ server, action, csrf }: LogoutQuestion): Page {
  const title = 'Forget the approvals in this browser?';
  const main = markup`<h1>${title}</h1>
<p>This browser remembers which applications you have approved, so that they need not ask each time.</p>
<p>After this every application asks again at its next sign-in.</p>
<form method="post" action="${action}" autocomplete="off">
<input type="hidden" name="${LOGOUT_FIELD}" value="${csrf}">
<div class="answers">
<button class="primary" type="submit">Forget approvals</button>
</div>
</form>`;
  const footer = markup`<p>Applications that are signed in stay so: sign out in the application to end that.</p>`;
  return renderPage({ status: 200, title, server, main, footer, form: true });
}

const DONE = {
  login: { title: 'You are signed out', text: 'The application has no access any more.' },
  approvals: { title: 'The approvals are forgotten', text: 'Every application asks again at its next sign-in.' },
} as const;

/** Page that confirms the logout or the deletion of approvals. */
function loggedOutPage(server: string, what: keyof typeof DONE): Page {
  const { title, text } = DONE[what];
  const main = markup`<h1>${title}</h1>
<p>${text}</p>`;
  const footer = markup`<p>You can close this page.</p>`;
  return renderPage({ status: 200, title, server, main, footer, form: false });
}
