import type { Request } from 'express';
import type { Operation } from '../../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../../context.ts';
import type { RequestParameters } from '../../core/request-parameters.ts';
import { PageRefused } from '../../http/refused.ts';
import { queryOf } from '../../http/parameters.ts';
import { redirectBrowser } from '../../login/approval.ts';
import { carriedInCookies, flowCookieHashes, flowCookieOf, type FlowCookie } from '../../login/flow-cookie.ts';
import { isState, legHandle } from '../../login/leg-handle.ts';
import { completeLeg } from '../../login/legs.ts';
import { markAnswered, openLeg } from '../../login/sealed-attempt.ts';
import type { Leg, LoginAttempt } from '../../storage/records.ts';

const PARAMETERS = ['state', 'code', 'iss', 'error', 'error_description'];

/** A login attempt that a provider was to answer, taken from the store for good. */
interface Answered {
  readonly attempt: LoginAttempt;
  readonly leg: Leg;
  readonly cookie: FlowCookie;
}

/**
 * Providers send browsers back here; the path and `state` say which of them, and for which visit. A leg that began at
 * another path is not found. Checked first is whose browser it is; then the login attempt is taken and judged. A callback that
 * is opened in another browser changes nothing.
 */
export const callbackEndpoint = (context: AuthServerContext): readonly Operation[] => [
  {
    method: 'GET',
    paths: context.settings.callbackPaths,
    answers: 'page',
    handle: async (req, res) => {
      const asked = queryOf(req);
      const state = stateOf(asked);
      const { attempt, leg, cookie } = await take(req, legHandle(state, req.path, context), context);
      const way = await completeLeg(context, attempt, leg, callbackOf(asked, state));
      redirectBrowser(req, res, way, cookie, context);
    },
  },
];

function stateOf(asked: RequestParameters): string {
  const state = asked.one('state');
  if (state !== undefined && !isState(state)) throw new PageRefused('sign_in_over');
  if (state !== undefined && !PARAMETERS.some((name) => asked.isDuplicated(name))) return state;
  throw new PageRefused('bad_request', { parameter: 'state' });
}

/** Of many callbacks at once, one goes on. One from a browser that the login attempt does not belong to leaves it where it is. */
async function take(req: Request, handle: string, context: AuthServerContext): Promise<Answered> {
  const { store, emit } = context;
  const found = await store.loginAttempts.takeOwn(handle, flowCookieHashes(req, context));
  const attempt = found.kind === 'unknown' ? await takeCarried(req, handle, context) : found.attempt;
  if (!attempt?.leg || attempt.cookieHash === undefined) throw new PageRefused('sign_in_over');
  const { leg } = attempt;
  const cookie = flowCookieOf(req, attempt, context);
  if (found.kind !== 'foreign' && cookie) return { attempt, leg, cookie };
  const facts = { client_id: attempt.clientId, provider: leg.provider };
  emit('login_foreign_browser', { endpoint: 'callback', ...facts });
  throw new PageRefused('other_browser', facts);
}

/** A login attempt that the store had no room for comes back with the browser. Once: the second finds a mark. */
async function takeCarried(
  req: Request,
  handle: string,
  context: AuthServerContext,
): Promise<LoginAttempt | undefined> {
  const carried = carriedInCookies(req, context)
    .map(({ hash, sealed }) => ({ hash, attempt: openLeg(handle, sealed, context) }))
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
