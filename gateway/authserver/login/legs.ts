import type { AuthServerContext } from '../context.ts';
import type { RefusalReason } from '../core/refusal.ts';
import { PageRefused } from '../http/refused.ts';
import type { Leg, Login, LoginAttempt, UpstreamRow } from '../storage/records.ts';
import type { Callback, Upstream, UpstreamIdentity, UpstreamLogin } from '../upstream/upstream.ts';
import { clientAnswer, UpstreamError, type ClientAnswer } from '../upstream/upstream-error.ts';
import { codeUrl, refusalUrl } from './code.ts';
import { lacksRefreshToken, reuseGrants, withEarlierRefreshToken } from './earlier-grants.ts';
import { sealLeg } from './sealed-attempt.ts';
import { beginLeg, endLeg, endFirstLeg, nextStep, remainingMs, stepMs } from './transition.ts';
import { resolveUser } from './resolve-user.ts';
import type { UpstreamFilter } from '../settings.ts';

/** The next redirect of the browser. */
export interface NextRedirect {
  readonly location: string;
  /** True when the login attempt has ended: the browser takes a code or an error to the client. */
  readonly isOver: boolean;
  /** Sealed login attempt, which the browser must keep because the store has no room. */
  readonly carried?: string;
}

const SECRET_BYTES = 32;

const REASONS: Readonly<Record<Exclude<ClientAnswer, 'page'>, RefusalReason>> = {
  access_denied: 'upstream_denied',
  server_error: 'upstream_failed',
  temporarily_unavailable: 'upstream_unavailable',
};

/** Starts the next leg, or issues the code if there is none. Called after consent and after each leg. */
export async function continueLogin(context: AuthServerContext, attempt: LoginAttempt): Promise<NextRedirect> {
  const remaining = await reuseGrants(context, attempt);
  const step = nextStep(remaining);
  switch (step.kind) {
    case 'leg':
      return startLeg(context, remaining, step.provider);
    case 'finish':
      return finish(context, remaining, step.login);
  }
}

/** Processes the callback of a provider. `attempt` belongs to this `state` and to this browser, and is no longer in the store. */
export async function completeLeg(
  context: AuthServerContext,
  attempt: LoginAttempt,
  leg: Leg,
  { state, ...callback }: Callback & { readonly state: string },
): Promise<NextRedirect> {
  const { codeVerifier, nonce, provider, redirectUri } = leg;
  let next: LoginAttempt;
  try {
    const upstream = upstreamNamed(context, provider);
    const result = await upstream.login(callback, { state, codeVerifier, nonce, redirectUri });
    const { login } = attempt;
    next = login
      ? await storeLaterLeg(context, attempt, login, upstream, result)
      : await storeFirstLeg(context, attempt, upstream, result);
    const { synthetic } = result.identity;
    context.emit('login_leg_ok', { provider, client_id: next.clientId, sub: next.login?.userId, synthetic });
  } catch (error) {
    return failLogin(context, attempt, provider, error);
  }
  return continueLogin(context, next);
}

async function startLeg(context: AuthServerContext, attempt: LoginAttempt, provider: string): Promise<NextRedirect> {
  const { store, now, random } = context;
  const [state, codeVerifier, nonce] = [secretBy(random), secretBy(random), secretBy(random)];
  let location: string;
  let redirectUri: string;
  try {
    const upstream = upstreamNamed(context, provider);
    redirectUri = await upstream.redirectUri();
    const request = { state, codeVerifier, nonce, redirectUri, forceLogin: attempt.forceLogin };
    location = await upstream.authorizationUrl(request);
  } catch (error) {
    return failLogin(context, attempt, provider, error);
  }
  const begun = beginLeg(attempt, { provider, codeVerifier, nonce, redirectUri });
  const ttlMs = stepMs(begun, now());
  if (ttlMs <= 0) throw new PageRefused('sign_in_over');
  const handle = legHandle(state, new URL(redirectUri).pathname, context);
  if (await store.loginAttempts.put(handle, begun, ttlMs)) return { location, isOver: false };
  return { location, isOver: false, carried: sealLeg(handle, begun, now() + ttlMs, context) };
}

const secretBy = (random: AuthServerContext['random']): string => random(SECRET_BYTES).toString('base64url');

/** Throws `UpstreamError` for a provider that the settings no longer name. */
function upstreamNamed({ upstreams }: AuthServerContext, provider: string): Upstream {
  const upstream = upstreams.get(provider);
  if (!upstream) throw new UpstreamError('misconfigured', 'the provider is no longer configured');
  return upstream;
}

/** Stores the first leg: it identifies the user and decides which providers follow. */
async function storeFirstLeg(
  context: AuthServerContext,
  attempt: LoginAttempt,
  upstream: Upstream,
  result: UpstreamLogin,
): Promise<LoginAttempt> {
  const { store, settings, upstreams, now } = context;
  const { upstreamFilter } = settings;
  const filtered = filterUpstreams(upstreamFilter, attempt.remaining, result.identity.claims);
  if (!filtered.ok) {
    const claim = upstreamFilter?.claim ?? '';
    throw new UpstreamError('misconfigured', `the claim "${claim}" of the upstream filter is not a list of texts`);
  }
  const login = await resolveUser(context, upstream.name, result.identity);
  await storeLogin(context, attempt, login, upstream, result);
  for (const name of filtered.excluded) {
    const provider = { name, clientId: upstreams.get(name)?.clientId ?? '' };
    await store.upstreamTokens.put(excludedRow(attempt, login, provider), remainingMs(attempt, now()));
  }
  return endFirstLeg(attempt, login, filtered.included);
}

async function storeLaterLeg(
  context: AuthServerContext,
  attempt: LoginAttempt,
  login: Login,
  upstream: Upstream,
  result: UpstreamLogin,
): Promise<LoginAttempt> {
  await storeLogin(context, attempt, login, upstream, result);
  return endLeg(attempt);
}

/** Stores the tokens of a leg for as long as the login attempt may take, so that an abandoned one leaves nothing. */
async function storeLogin(
  context: AuthServerContext,
  attempt: LoginAttempt,
  login: Login,
  upstream: Upstream,
  result: UpstreamLogin,
): Promise<void> {
  const { store, now, emit } = context;
  const { subject, synthetic } = result.identity;
  const row = loginRow(attempt, login, upstream, result, now());
  const needsEarlierRow = !synthetic && (attempt.login !== undefined || lacksRefreshToken(row));
  const earlier = needsEarlierRow ? await store.upstreamTokens.latestForUser(login.userId, upstream.name) : undefined;
  if (earlier && earlier.upstreamSubject !== subject) {
    emit('other_upstream_subject', { provider: upstream.name, client_id: attempt.clientId, sub: login.userId });
  }
  const whole = await withEarlierRefreshToken(context, row, earlier);
  await store.upstreamTokens.put(whole, remainingMs(attempt, now()));
}

async function finish(context: AuthServerContext, attempt: LoginAttempt, login: Login): Promise<NextRedirect> {
  const location = await codeUrl(context, attempt, login);
  if (location !== undefined) return { location, isOver: true };
  context.log.error('the first login is not stored as that of its user', { client_id: attempt.clientId });
  await context.store.upstreamTokens.delete(attempt.tsid);
  return { location: refusalUrl('internal', attempt, context), isOver: true };
}

/** Deletes the tokens of a login attempt that has failed. The client gets a general error; the log gets the details. */
async function failLogin(
  context: AuthServerContext,
  attempt: LoginAttempt,
  provider: string,
  error: unknown,
): Promise<NextRedirect> {
  const { store, emit, log } = context;
  if (!(error instanceof UpstreamError)) throw error;
  const { fault, message, providerError, providerDescription } = error;
  emit('login_leg_failed', { provider, client_id: attempt.clientId, fault, providerError });
  log.warn('a login at an identity provider failed', {
    provider,
    fault,
    cause: message,
    providerError,
    providerDescription,
  });
  await store.upstreamTokens.delete(attempt.tsid);
  const answer = clientAnswer(fault);
  if (answer === 'page') throw new PageRefused('provider_mismatch', { provider });
  return { location: refusalUrl(REASONS[answer], attempt, context), isOver: true };
}

/**
 * Returns the store key of a leg. It contains the callback path, so that a `state` sent to the callback of another provider
 * finds no leg and uses up no leg. At the shared callback the key is the `state` alone. @see RFC 9700 §4.4
 */
export const legHandle = (state: string, path: string, { settings }: Pick<AuthServerContext, 'settings'>): string =>
  path === new URL(settings.callbackUrl).pathname ? state : `${state}${SEPARATOR}${path}`;

const SEPARATOR = ' ';

/** Returns true for a text that can be a `state`. With a separator it could be the key of a leg at another callback. */
export const isState = (text: string): boolean => !text.includes(SEPARATOR);

type Owner = Pick<UpstreamRow, 'tsid' | 'provider' | 'userId' | 'clientId' | 'upstreamClientId' | 'storedAt'>;

const ownerOf = (
  { tsid, clientId }: LoginAttempt,
  { userId }: Login,
  { name, clientId: upstreamClientId }: Pick<Upstream, 'name' | 'clientId'>,
  storedAt: number,
): Owner => ({ tsid, provider: name, userId, clientId, upstreamClientId, storedAt });

/** Returns the row that stores the tokens of a leg. */
function loginRow(
  attempt: LoginAttempt,
  login: Login,
  upstream: Pick<Upstream, 'name' | 'clientId'>,
  { grant, identity }: UpstreamLogin,
  now: number,
): UpstreamRow {
  const { accessToken, refreshToken, idToken, scope, expiresAt, idTokenExpiresAt } = grant;
  return {
    ...ownerOf(attempt, login, upstream, now),
    upstreamSubject: identity.subject,
    accessToken: accessToken.reveal(),
    ...(refreshToken && { refreshToken: refreshToken.reveal() }),
    ...(idToken && { idToken: idToken.reveal() }),
    ...(scope !== undefined && { scope }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(idTokenExpiresAt !== undefined && { idTokenExpiresAt }),
  };
}

/** Returns the row of a provider that the upstream filter excludes, so that no token request starts a new login for it. */
const excludedRow = (
  attempt: LoginAttempt,
  login: Login,
  upstream: Pick<Upstream, 'name' | 'clientId'>,
): UpstreamRow => ({
  ...ownerOf(attempt, login, upstream, login.authTime),
  upstreamSubject: '',
  accessToken: '',
  excluded: true,
});

type FilterOutcome =
  | { readonly ok: true; readonly included: readonly string[]; readonly excluded: readonly string[] }
  /** The claim is missing or is no list of strings, so that the rules cannot be applied. */
  | { readonly ok: false };

/**
 * Chooses the later legs of a user by a claim of the first provider. It runs once, and it can only remove providers from
 * the configured chain.
 */
export function filterUpstreams(
  filter: UpstreamFilter | undefined,
  laterProviders: readonly string[],
  claims: UpstreamIdentity['claims'],
): FilterOutcome {
  if (!filter) return { ok: true, included: laterProviders, excluded: [] };
  const groups = textsOf(Object.hasOwn(claims, filter.claim) ? claims[filter.claim] : undefined);
  if (!groups) return { ok: false };
  const matching = filter.rules.filter((rule) => rule.groups.some((group) => groups.includes(group)));
  const chosen = matching.length > 0 ? matching.flatMap((rule) => rule.providers) : filter.defaultProviders;
  return {
    ok: true,
    included: laterProviders.filter((name) => chosen.includes(name)),
    excluded: laterProviders.filter((name) => !chosen.includes(name)),
  };
}

const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
