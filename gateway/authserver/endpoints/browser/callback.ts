import type { Request } from 'express';
import type { Operation } from '../../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../../context.ts';
import type { RequestParameters } from '../../core/request-parameters.ts';
import { PageRefused } from '../../http/refused.ts';
import { readQuery } from '../../http/requests.ts';
import { redirectBrowser } from '../../login/approval.ts';
import { flowCookies, type FlowCookie } from '../../login/flow-cookie.ts';
import { completeLeg, isState, legHandle } from '../../login/legs.ts';
import { markAnswered, openLeg } from '../../login/sealed-attempt.ts';
import type { Leg, LoginAttempt } from '../../storage/records.ts';

const PARAMETERS = ['state', 'code', 'iss', 'error', 'error_description'];

/** A login attempt with a running leg, removed from the store. */
interface TakenAttempt {
  readonly attempt: LoginAttempt;
  readonly leg: Leg;
  readonly cookie: FlowCookie;
}

/**
 * Callback of the identity providers. The path and `state` identify the leg. The browser must have started the login attempt;
 * only then is the attempt removed from the store, so that a callback opened in another browser changes nothing.
 */
export const callbackEndpoint = (context: AuthServerContext): readonly Operation[] => [
  {
    method: 'GET',
    paths: context.settings.callbackPaths,
    answers: 'page',
    handle: async (req, res) => {
      const asked = readQuery(req);
      const state = stateOf(asked);
      const { attempt, leg, cookie } = await take(req, legHandle(state, req.path, context), context);
      const next = await completeLeg(context, attempt, leg, callbackOf(asked, state));
      redirectBrowser(req, res, next, cookie, context);
    },
  },
];

function stateOf(asked: RequestParameters): string {
  const state = asked.one('state');
  if (state !== undefined && !isState(state)) throw new PageRefused('sign_in_over');
  if (state !== undefined && !PARAMETERS.some((name) => asked.isDuplicated(name))) return state;
  throw new PageRefused('bad_request', { parameter: 'state' });
}

/** Removes the login attempt from the store. Of concurrent callbacks one succeeds. Throws for a callback in another browser. */
async function take(req: Request, handle: string, context: AuthServerContext): Promise<TakenAttempt> {
  const { store, emit } = context;
  const cookies = flowCookies(req, context);
  const found = await store.loginAttempts.takeOwn(
    handle,
    cookies.map(({ hash }) => hash),
  );
  const attempt = found.kind === 'unknown' ? await openCarried(cookies, handle, context) : found.attempt;
  if (!attempt?.leg || attempt.cookieHash === undefined) throw new PageRefused('sign_in_over');
  const { leg } = attempt;
  const cookie = cookies.find(({ hash }) => hash === attempt.cookieHash);
  if (found.kind !== 'foreign' && cookie) return { attempt, leg, cookie };
  const facts = { client_id: attempt.clientId, provider: leg.provider };
  emit('login_foreign_browser', { endpoint: 'callback', ...facts });
  throw new PageRefused('other_browser', facts);
}

/** Opens a login attempt that a cookie carries, because the store had no room. Returns undefined the second time. */
async function openCarried(
  cookies: ReturnType<typeof flowCookies>,
  handle: string,
  context: AuthServerContext,
): Promise<LoginAttempt | undefined> {
  const carried = cookies
    .map(({ hash, sealed }) => ({ hash, attempt: sealed === undefined ? undefined : openLeg(handle, sealed, context) }))
    .find(({ hash, attempt }) => attempt?.cookieHash === hash);
  return carried && (await markAnswered(handle, context)) ? carried.attempt : undefined;
}

const callbackOf = (asked: RequestParameters, state: string) => ({
  state,
  code: asked.one('code'),
  iss: asked.one('iss'),
  error: asked.one('error'),
  errorDescription: asked.one('error_description'),
});
