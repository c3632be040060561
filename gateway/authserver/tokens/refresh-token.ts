import type { AuthServerContext } from '../context.ts';
import { isGenuine } from '../core/opaque-token.ts';
import { checkRefresh } from '../core/token-endpoint/redemption.ts';
import { readRefreshRequest } from '../core/token-request.ts';
import { acceptedValue, Refused } from '../http/refused.ts';
import type { Family } from '../storage/records.ts';
import type { FamilySpans, Rotation } from '../storage/store.ts';
import { familySpans, newRefreshToken, signTokens, upstreamTtlMs, type GrantHandler } from './issue.ts';

/** Redeems a refresh token. @see RFC 6749 §6, RFC 9700 §4.14.2 */
export const redeemRefreshToken: GrantHandler = async (context, { client, form }) => {
  const { store, settings, sessions, clients, secrets, emit } = context;
  const { client_id: clientId } = client;
  const { refreshToken: token, ...asked } = acceptedValue(readRefreshRequest(form));
  if (!isGenuine('refresh', token, secrets())) throw new Refused('refresh_tag');
  const found = await store.families.find(token);
  if (!found) throw new Refused('refresh_unknown');
  const { family } = found;
  const granted = acceptedValue(checkRefresh(family, { ...asked, clientId }));
  if (await sessions.isUpstreamDead(family.tsid)) throw new Refused('upstream_dead', { facts: factsOf(family) });
  const spans = familySpans(settings, true);
  const [successor, reply] = await Promise.all([
    rotate(context, family, token, spans),
    signTokens(context, { ...family, ...granted, familyId: family.id }),
  ]);
  const ttlMs = upstreamTtlMs(family, spans, context.now());
  await Promise.all([store.upstreamTokens.extend(family.tsid, settings.providers, ttlMs), clients.renew(client)]);
  emit('token_refreshed', factsOf(family));
  return { ...reply, refresh_token: successor };
};

async function rotate(context: AuthServerContext, family: Family, token: string, spans: FamilySpans): Promise<string> {
  const { store, settings } = context;
  const successor = newRefreshToken(context);
  const graceMs = settings.refreshGraceMs;
  const rotation = await store.families.rotate({ family, token, successor, graceMs, ...spans });
  return nextRefreshToken(context, rotation, family, successor);
}

/** Returns the refresh token of the response. */
async function nextRefreshToken(
  { sessions, emit }: AuthServerContext,
  rotation: Rotation,
  family: Family,
  successor: string,
): Promise<string> {
  switch (rotation.kind) {
    case 'rotated':
      return successor;
    case 'replayed':
      return rotation.successor;
    case 'reused':
      await sessions.end(family);
      emit('refresh_reuse', factsOf(family));
      throw new Refused('refresh_reuse', { facts: factsOf(family) });
    case 'unknown':
      throw new Refused('refresh_unknown', { facts: factsOf(family) });
  }
}

const factsOf = ({ clientId, id, login }: Family): Readonly<Record<string, unknown>> => ({
  client_id: clientId,
  sub: login.userId,
  family: id,
});
