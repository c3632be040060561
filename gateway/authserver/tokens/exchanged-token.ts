import type { AuthServerContext } from '../context.ts';
import { readActor, type Actor } from '../core/token-endpoint/actor.ts';
import { acceptedValue } from '../http/accepted-value.ts';
import { Refused } from '../http/refused.ts';
import { liveAccessToken } from './presented-token.ts';

/** Valid subject or actor token of an exchange, with the limits that it puts on the new token. */
export interface ExchangedToken {
  readonly issuer: string;
  /** Subject at the issuer. */
  readonly subject: string;
  /** `sub` of the new token. */
  readonly userId: string;
  readonly audiences: readonly string[];
  readonly scopes: readonly string[];
  /** ms since the epoch. */
  readonly expiresAt: number;
  readonly act: Actor | undefined;
  readonly mayAct: unknown;
  readonly login: { readonly tsid: string; readonly clientId: string; readonly familyId: string };
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** Verifies an access token of this server whose login is live. Throws `Refused` with `reason`. */
export async function exchangedToken(
  context: AuthServerContext,
  token: string,
  reason: 'exchange_subject' | 'exchange_actor',
): Promise<ExchangedToken> {
  const found = await liveAccessToken(context, token);
  if (!found) throw new Refused(reason, { facts: { cause: 'token' } });
  const { claims, liveness } = found;
  const { iss, sub, aud, scope = '', exp, tsid } = claims;
  return {
    ...{ issuer: iss ?? '', subject: sub, userId: sub, audiences: [aud], expiresAt: exp * 1_000 },
    scopes: scope.split(' ').filter((one) => one !== ''),
    act: acceptedValue(readActor(claims['act'])),
    mayAct: claims['may_act'],
    login: { tsid, clientId: liveness.clientId, familyId: liveness.familyId },
    name: textOf(claims['name']),
    email: textOf(claims['email']),
  };
}

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);
