import type { AuthServerContext } from '../context.ts';
import { delegatedAccess, delegatedLifespan } from '../core/token-endpoint/delegated-access.ts';
import { ISSUED_TYPE, readExchangeRequest } from '../core/token-request.ts';
import { acceptedValue } from '../http/accepted-value.ts';
import { Refused } from '../http/refused.ts';
import type { DelegateClient } from '../settings.ts';
import { actorsOf } from './exchange-actor.ts';
import { exchangedToken } from './exchanged-token.ts';
import type { GrantHandler } from './grant.ts';
import { signDelegated } from './issue.ts';

/**
 * Exchanges a token of a user for a short one with which the client, or the party that it names, acts for the user. The new token
 * has no more access than the client and the subject token, and ends with the login of the subject. @see RFC 8693
 */
export const exchangeToken: GrantHandler = async (context, { client, form, req }) => {
  const { settings, now, emit } = context;
  const asked = acceptedValue(readExchangeRequest(form));
  const delegate = delegateOf(context, client.client_id);
  const { clientId } = delegate;
  const presented = { clientId, req };
  const subject = await exchangedToken(context, {
    ...presented,
    ...{ token: asked.subjectToken, reason: 'exchange_subject' },
  });
  const actorToken =
    asked.actorToken === undefined
      ? undefined
      : await exchangedToken(context, { ...presented, token: asked.actorToken, reason: 'exchange_actor' });
  const actor = actorsOf(context, subject, actorToken, clientId);
  const issued = { audiences: settings.audiences, scopes: settings.scopesSupported };
  const access = acceptedValue(delegatedAccess(asked, issued, [delegate, subject]));
  const expiries = [subject.expiresAt, ...(actorToken ? [actorToken.expiresAt] : [])];
  const lifespan = delegatedLifespan(now(), settings.lifespans.accessToken, expiries);
  if (lifespan === 0) throw new Refused('exchange_subject', { facts: { cause: 'expired' } });
  const owner = await subject.owner();
  const reply = await signDelegated(context, { ...access, ...owner, clientId, actor }, lifespan);
  const { userId: sub, subjectIssuer: issuer } = owner;
  emit('token_exchanged', {
    ...{ client_id: clientId, sub, actor: actor.sub },
    ...(subject.familyId !== undefined && { family: subject.familyId }),
    ...(issuer !== undefined && { issuer }),
  });
  return { ...reply, issued_token_type: ISSUED_TYPE };
};

export function delegateOf({ settings }: AuthServerContext, id: string): DelegateClient {
  const found = settings.delegation?.clients.find(({ clientId }) => clientId === id);
  if (!found) throw new Refused('grant_type_unregistered');
  return found;
}
