import type { AuthServerContext } from '../context.ts';
import type { RefusalReason } from '../core/refusal.ts';
import { PageRefused } from '../http/refused.ts';
import type { Leg, Login, Transaction } from '../storage/records.ts';
import type { Callback, Upstream, UpstreamLogin } from '../upstream/upstream.ts';
import { clientAnswer, UpstreamError, type ClientAnswer } from '../upstream/upstream-error.ts';
import { codeUrl, refusalUrl } from './code.ts';
import { legHandle } from './leg-handle.ts';
import { lacksRefreshToken, reuseGrants, withEarlierRefreshToken } from './earlier-grants.ts';
import { sealLeg } from './sealed-visit.ts';
import { beginLeg, endLeg, identify, nextStep, remainingMs, stepMs } from './transition.ts';
import { filterUpstreams } from './upstream-filter.ts';
import { excludedRow, loginRow } from './upstream-row.ts';
import { whoLoggedIn } from './who.ts';

/** Where the browser goes next. */
export interface Way {
  readonly location: string;
  /** Back to the client, with a code or a refusal: the visit has ended. */
  readonly over: boolean;
  /** The login attempt, sealed: the store has no room for it, so that the browser must keep it. */
  readonly carried?: string;
}

const SECRET_BYTES = 32;

const REASONS: Readonly<Record<Exclude<ClientAnswer, 'page'>, RefusalReason>> = {
  access_denied: 'upstream_denied',
  server_error: 'upstream_failed',
  temporarily_unavailable: 'upstream_unavailable',
};

/** After consent, and after each leg: to the next provider, or back to the client with a code. */
export async function goOn(context: AuthServerContext, transaction: Transaction): Promise<Way> {
  const left = await reuseGrants(context, transaction);
  const step = nextStep(left);
  switch (step.kind) {
    case 'visit':
      return visit(context, left, step.provider);
    case 'finish':
      return finish(context, left, step.login);
  }
}

/** A provider has sent the browser back. `transaction` was taken with this `state`, and belongs to this browser. */
export async function completeLeg(
  context: AuthServerContext,
  transaction: Transaction,
  leg: Leg,
  { state, ...callback }: Callback & { readonly state: string },
): Promise<Way> {
  const { codeVerifier, nonce, provider, redirectUri } = leg;
  let next: Transaction;
  try {
    const upstream = upstreamNamed(context, provider);
    const result = await upstream.login(callback, { state, codeVerifier, nonce, redirectUri });
    const { login } = transaction;
    next = login
      ? await storeLaterLeg(context, transaction, login, upstream, result)
      : await storeFirstLeg(context, transaction, upstream, result);
    const { synthetic } = result.identity;
    context.emit('login_leg_ok', { provider, client_id: next.clientId, sub: next.login?.userId, synthetic });
  } catch (error) {
    return failed(context, transaction, provider, error);
  }
  return goOn(context, next);
}

async function visit(context: AuthServerContext, transaction: Transaction, provider: string): Promise<Way> {
  const { store, now, random } = context;
  const [state, codeVerifier, nonce] = [secretBy(random), secretBy(random), secretBy(random)];
  let location: string;
  let redirectUri: string;
  try {
    const upstream = upstreamNamed(context, provider);
    redirectUri = await upstream.redirectUri();
    const request = { state, codeVerifier, nonce, redirectUri, forceLogin: transaction.forceLogin };
    location = await upstream.authorizationUrl(request);
  } catch (error) {
    return failed(context, transaction, provider, error);
  }
  const begun = beginLeg(transaction, { provider, codeVerifier, nonce, redirectUri });
  const ttlMs = stepMs(begun, now());
  if (ttlMs <= 0) throw new PageRefused('sign_in_over');
  const handle = legHandle(state, new URL(redirectUri).pathname, context);
  if (await store.transactions.put(handle, begun, ttlMs)) return { location, over: false };
  return { location, over: false, carried: sealLeg(handle, begun, now() + ttlMs, context) };
}

const secretBy = (random: AuthServerContext['random']): string => random(SECRET_BYTES).toString('base64url');

/** Changed settings may have dropped it since the visit began. */
function upstreamNamed({ upstreams }: AuthServerContext, provider: string): Upstream {
  const upstream = upstreams.get(provider);
  if (!upstream) throw new UpstreamError('misconfigured', 'the provider is not configured any more');
  return upstream;
}

/** Settles who the user is, and which providers come after this one. */
async function storeFirstLeg(
  context: AuthServerContext,
  transaction: Transaction,
  upstream: Upstream,
  result: UpstreamLogin,
): Promise<Transaction> {
  const { store, settings, upstreams, now } = context;
  const { upstreamFilter } = settings;
  const filtered = filterUpstreams(upstreamFilter, transaction.remaining, result.identity.claims);
  if (!filtered.ok) {
    const claim = upstreamFilter?.claim ?? '';
    throw new UpstreamError('misconfigured', `the claim "${claim}" of the upstream filter is not a list of texts`);
  }
  const login = await whoLoggedIn(context, upstream.name, result.identity);
  await storeLogin(context, transaction, login, upstream, result);
  for (const name of filtered.excluded) {
    const provider = { name, clientId: upstreams.get(name)?.clientId ?? '' };
    await store.upstreamTokens.put(excludedRow(transaction, login, provider), remainingMs(transaction, now()));
  }
  return identify(transaction, login, filtered.visited);
}

async function storeLaterLeg(
  context: AuthServerContext,
  transaction: Transaction,
  login: Login,
  upstream: Upstream,
  result: UpstreamLogin,
): Promise<Transaction> {
  await storeLogin(context, transaction, login, upstream, result);
  return endLeg(transaction);
}

/** The tokens live as long as the visit may take, so that nothing is left of one that is given up. */
async function storeLogin(
  context: AuthServerContext,
  transaction: Transaction,
  login: Login,
  upstream: Upstream,
  result: UpstreamLogin,
): Promise<void> {
  const { store, now, emit } = context;
  const { subject, synthetic } = result.identity;
  const row = loginRow(transaction, login, upstream, result, now());
  const isOfInterest = !synthetic && (transaction.login !== undefined || lacksRefreshToken(row));
  const earlier = isOfInterest ? await store.upstreamTokens.latestForUser(login.userId, upstream.name) : undefined;
  if (earlier && earlier.upstreamSubject !== subject) {
    emit('other_upstream_subject', { provider: upstream.name, client_id: transaction.clientId, sub: login.userId });
  }
  const whole = await withEarlierRefreshToken(context, row, earlier);
  await store.upstreamTokens.put(whole, remainingMs(transaction, now()));
}

async function finish(context: AuthServerContext, transaction: Transaction, login: Login): Promise<Way> {
  const location = await codeUrl(context, transaction, login);
  if (location !== undefined) return { location, over: true };
  context.log.error('the first login is not stored as that of its user', { client_id: transaction.clientId });
  await context.store.upstreamTokens.delete(transaction.tsid);
  return { location: refusalUrl('internal', transaction, context), over: true };
}

/** Nothing is kept of a chain that breaks. The client hears as much as it may; all else is for the log. */
async function failed(
  context: AuthServerContext,
  transaction: Transaction,
  provider: string,
  error: unknown,
): Promise<Way> {
  const { store, emit, log } = context;
  if (!(error instanceof UpstreamError)) throw error;
  const { fault, message, providerError, providerSays } = error;
  emit('login_leg_failed', { provider, client_id: transaction.clientId, fault, providerError });
  log.warn('a login at an identity provider failed', { provider, fault, cause: message, providerError, providerSays });
  await store.upstreamTokens.delete(transaction.tsid);
  const answer = clientAnswer(fault);
  if (answer === 'page') throw new PageRefused('provider_mismatch', { provider });
  return { location: refusalUrl(REASONS[answer], transaction, context), over: true };
}
