import type { Request } from 'express';
import type { AuthServerContext } from '../context.ts';
import type { RequestParameters } from '../core/request-parameters.ts';
import { redirectTo } from '../http/answers.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { PageRefused } from '../http/refused.ts';
import { queryOf } from '../http/request-body.ts';
import { clearFlowCookie, flowCookieOf } from '../login/flow-cookie.ts';
import { completeLeg } from '../login/legs.ts';
import type { Leg, Transaction } from '../storage/records.ts';

const PARAMETERS = ['state', 'code', 'iss', 'error', 'error_description'];

/** A visit that a provider was to answer, taken from the store for good. */
interface Answered {
  readonly transaction: Transaction;
  readonly leg: Leg;
  readonly cookieHash: string;
}

/**
 * Providers send browsers back here; `state` says which of them, and for which visit. The order: whose browser is it,
 * then take, then judge. Whoever opens the address in another browser changes nothing. @see contract/auth.md 3.7
 */
export const callbackEndpoint = (context: AuthServerContext): Endpoint => ({
  paths: context.settings.callbackPaths,
  answers: 'page',
  cors: false,
  methods: {
    async GET(req, res) {
      const asked = queryOf(req);
      const state = stateOf(asked);
      await refuseForeignBrowser(req, state, context);
      const { transaction, leg, cookieHash } = await take(state, context);
      const { location, over } = await completeLeg(context, transaction, leg, callbackOf(asked, state));
      if (over) clearFlowCookie(res, cookieHash, context);
      redirectTo(res, location);
    },
  },
});

function stateOf(asked: RequestParameters): string {
  const state = asked.one('state');
  if (state !== undefined && !PARAMETERS.some((name) => asked.isDuplicated(name))) return state;
  throw new PageRefused('bad_request', { parameter: 'state' });
}

async function refuseForeignBrowser(req: Request, state: string, context: AuthServerContext): Promise<void> {
  const { store, emit } = context;
  const found = await store.transactions.get(state);
  if (!found?.leg) throw new PageRefused('sign_in_over');
  if (flowCookieOf(req, found, context)) return;
  const facts = { client_id: found.clientId, provider: found.leg.provider };
  emit('login_foreign_browser', { endpoint: 'callback', ...facts });
  throw new PageRefused('other_browser', facts);
}

/** Of many callbacks at once, one goes on. */
async function take(state: string, { store }: AuthServerContext): Promise<Answered> {
  const transaction = await store.transactions.take(state);
  const { leg, cookieHash } = transaction ?? {};
  if (!transaction || !leg || cookieHash === undefined) throw new PageRefused('sign_in_over');
  return { transaction, leg, cookieHash };
}

const callbackOf = (asked: RequestParameters, state: string) => ({
  state,
  code: asked.one('code'),
  iss: asked.one('iss'),
  error: asked.one('error'),
  errorDescription: asked.one('error_description'),
});
