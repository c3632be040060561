import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, CodeGrant, Family, FamilyRef } from '../storage/records.ts';
import type { AuthServerContext } from '../context.ts';
import { loginEnd, redeemCode } from '../core/token-endpoint/redemption.ts';
import { FIXED_LIFESPANS } from '../core/lifespans.ts';
import { isGenuine } from '../core/opaque-token.ts';
import { readCodeRequest } from '../core/token-request.ts';
import { acceptedValue, Refused } from '../http/refused.ts';
import {
  familySpans,
  mayRefresh,
  newRefreshToken,
  signTokens,
  upstreamTtlMs,
  type GrantHandler,
  type TokenReply,
} from './issue.ts';

/** Redeems an authorization code. @see RFC 6749 §4.1.3, OAuth 2.1 §4.1.3 */
export const redeemAuthorizationCode: GrantHandler = async (context, { client, form }) => {
  const { code, ...asked } = acceptedValue(readCodeRequest(form));
  if (!isGenuine('code', code, context.secrets())) throw new Refused('code_tag');
  const bound = await takeCode(context, client, code);
  const { redirect_uris: registered } = client.metadata;
  const redemption = { ...asked, clientId: client.client_id, hasOneRedirectUri: registered.length === 1 };
  return createFamily(context, client, acceptedValue(redeemCode(bound, redemption, context.now())));
};

async function takeCode(context: AuthServerContext, { client_id }: Client, code: string): Promise<CodeGrant> {
  const taken = await context.store.codes.take(code, FIXED_LIFESPANS.usedCode * 1_000);
  switch (taken.kind) {
    case 'taken':
      return taken.grant;
    case 'unknown':
      throw new Refused('code_unknown');
    case 'used':
      await endReplayed(context, taken.family);
      context.emit('code_replay', { client_id, family: taken.family.id });
      throw new Refused('code_replayed', { facts: { client_id, family: taken.family.id } });
  }
}

/** Upper limit for the time that the first redemption of a code takes to create its family. */
const FIRST_USE_MS = 250;

/**
 * Ends the login that the first redemption of a code has created. A replay that overtakes the first redemption lets it finish: of
 * concurrent requests one must get tokens, even if the login ends at once.
 */
async function endReplayed({ store, sessions }: AuthServerContext, family: FamilyRef): Promise<void> {
  if ((await store.families.get(family.id)) === undefined) await sleep(FIRST_USE_MS);
  await sessions.end(family);
}

async function createFamily(context: AuthServerContext, client: Client, grant: CodeGrant): Promise<TokenReply> {
  const { store, settings, clients, sessions, emit } = context;
  const now = context.now();
  const { familyId: id, clientId, scopes, resource, tsid, login } = grant;
  const family: Family = { id, clientId, scopes, resource, tsid, login, createdAt: now, expiresAt: loginEnd(now) };
  const refreshable = mayRefresh(client);
  const refreshToken = refreshable ? newRefreshToken(context) : undefined;
  const spans = familySpans(settings, refreshable);
  const [created, reply] = await Promise.all([
    store.families.create(family, refreshToken, spans),
    signTokens(context, grant),
  ]);
  if (!created) throw new Refused('code_replayed', { facts: { client_id: clientId, family: id } });
  const ttlMs = upstreamTtlMs(family, spans, now);
  const [isDeleted] = await Promise.all([
    isDeletedMeanwhile(context, client),
    store.upstreamTokens.extend(tsid, settings.providers, ttlMs),
    clients.renew(client),
  ]);
  if (isDeleted) {
    await sessions.end(family);
    throw new Refused('client_authentication', { facts: { client_id: clientId, cause: 'unknown_client' } });
  }
  emit('token_issued', { client_id: clientId, sub: login.userId, family: id });
  return refreshToken === undefined ? reply : { ...reply, refresh_token: refreshToken };
}

/** Ends the new login if its client was deleted meanwhile, because the deletion may have missed it. */
const isDeletedMeanwhile = async ({ clients }: AuthServerContext, { source, client_id }: Client): Promise<boolean> =>
  source === 'registered' && (await clients.known(client_id)) === undefined;
