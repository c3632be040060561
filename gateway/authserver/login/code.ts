import type { AuthServerContext } from '../context.ts';
import { codeResponseUrl, errorResponseUrl } from '../core/authorization-response.ts';
import { issueToken, RANDOM_BYTES } from '../core/opaque-token.ts';
import type { RefusalReason } from '../core/refusal.ts';
import type { CodeGrant, Login, LoginAttempt } from '../storage/records.ts';
import { remainingMs } from './transition.ts';

const FAMILY_ID_BYTES = 16;
/** The upstream tokens outlive the code by this, so that whoever redeems it in its last moment finds them. */
const SPARE_MS = 60_000;

const answerTo = ({ redirectUri, state }: LoginAttempt, { settings }: AuthServerContext) => ({
  redirectUri,
  state,
  issuer: settings.urls.issuer,
});

/** The way back to the client with a refusal. */
export const refusalUrl = (reason: RefusalReason, attempt: LoginAttempt, context: AuthServerContext): string =>
  errorResponseUrl(reason, answerTo(attempt, context));

/** The way back to the client with a code. Undefined: the first login is not stored as that of this user. */
export async function codeUrl(
  context: AuthServerContext,
  attempt: LoginAttempt,
  login: Login,
): Promise<string | undefined> {
  const { store, settings, random, secrets, now, emit } = context;
  const { tsid, clientId } = attempt;
  if (!(await isStillOf(context, attempt, login))) return undefined;
  const lifeMs = settings.lifespans.code * 1_000;
  const familyId = random(FAMILY_ID_BYTES).toString('base64url');
  const code = issueToken('code', random(RANDOM_BYTES), secrets()).reveal();
  // the rows live as long as the login attempt might have taken
  if (remainingMs(attempt, now()) < lifeMs + SPARE_MS) {
    await store.upstreamTokens.extend(tsid, settings.providers, lifeMs + SPARE_MS);
  }
  const isNew = await store.codes.put(code, grantOf(attempt, login, familyId, now() + lifeMs), lifeMs);
  if (!isNew) throw new Error('a fresh code is in use');
  emit('code_issued', { client_id: clientId, sub: login.userId, family: familyId });
  return codeResponseUrl(code, answerTo(attempt, context));
}

/** Between the first leg and the last the store had the tokens of the first; with one provider there is no between. */
async function isStillOf(
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
