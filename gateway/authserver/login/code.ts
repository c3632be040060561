import type { AuthServerContext } from '../context.ts';
import { codeResponseUrl, errorResponseUrl } from '../core/authorization.ts';
import { issueToken, RANDOM_BYTES } from '../core/opaque-token.ts';
import type { RefusalReason } from '../core/refusal.ts';
import type { CodeGrant, Login, LoginAttempt } from '../storage/records.ts';
import { remainingMs } from './transition.ts';

const FAMILY_ID_BYTES = 16;
/** Time by which the upstream tokens outlive the code, for a client that redeems it in its last moment. */
const SPARE_MS = 60_000;

const responseTarget = ({ redirectUri, state }: LoginAttempt, { settings }: AuthServerContext) => ({
  redirectUri,
  state,
  issuer: settings.urls.issuer,
});

/** Returns the URL that takes an error to the client. */
export const refusalUrl = (reason: RefusalReason, attempt: LoginAttempt, context: AuthServerContext): string =>
  errorResponseUrl(reason, responseTarget(attempt, context));

/**
 * Issues a code and returns the URL that takes it to the client. Returns undefined if the store does not hold the first leg
 * as a leg of this user.
 */
export async function codeUrl(
  context: AuthServerContext,
  attempt: LoginAttempt,
  login: Login,
): Promise<string | undefined> {
  const { store, settings, random, secrets, now, emit } = context;
  const { tsid, clientId } = attempt;
  if (!(await isStillStored(context, attempt, login))) return undefined;
  const lifeMs = settings.lifespans.code * 1_000;
  const familyId = random(FAMILY_ID_BYTES).toString('base64url');
  const code = issueToken('code', random(RANDOM_BYTES), secrets()).reveal();
  // until now the rows expire with the login attempt
  if (remainingMs(attempt, now()) < lifeMs + SPARE_MS) {
    await store.upstreamTokens.extend(tsid, settings.providers, lifeMs + SPARE_MS);
  }
  const isNew = await store.codes.put(code, grantOf(attempt, login, familyId, now() + lifeMs), lifeMs);
  if (!isNew) throw new Error('a new code exists already');
  emit('code_issued', { client_id: clientId, sub: login.userId, family: familyId });
  return codeResponseUrl(code, responseTarget(attempt, context));
}

/** Returns true if the store still holds the tokens of the first leg under this user. A single leg has just stored them. */
async function isStillStored(
  { store, settings }: AuthServerContext,
  { tsid, clientId }: LoginAttempt,
  { userId }: Login,
): Promise<boolean> {
  const [first, ...others] = settings.providers;
  if (others.length === 0) return true;
  const row = await store.upstreamTokens.get(tsid, first);
  return row?.userId === userId && row.clientId === clientId;
}

function grantOf(attempt: LoginAttempt, login: Login, familyId: string, expiresAt: number): CodeGrant {
  const { clientId, scopes, resource, tsid, redirectUri, codeChallenge, nonce } = attempt;
  return {
    ...{ clientId, scopes, resource, tsid, redirectUri, codeChallenge, familyId, expiresAt, login },
    ...(nonce !== undefined && { nonce }),
  };
}
