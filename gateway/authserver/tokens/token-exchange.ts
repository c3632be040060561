import type { AuthServerContext } from '../context.ts';
import {
  delegatedAccess,
  delegatedLifespan,
  mayAct,
  withActor,
  type Actor,
} from '../core/token-endpoint/delegated-access.ts';
import { ISSUED_TYPE, readExchangeRequest } from '../core/token-request.ts';
import { acceptedValue, Refused } from '../http/refused.ts';
import type { DelegateClient } from '../settings.ts';
import { exchangedToken, type ExchangedToken } from './exchanged-token.ts';
import { signDelegated, type GrantHandler } from './issue.ts';
import { isObject } from '../../contract/json.ts';

/**
 * Exchanges a token of a user for a short one with which the client, or the party that it names, acts for the user. The new token
 * has no more access than the client and the subject token, and ends with the login of the subject. @see RFC 8693
 */
export const exchangeToken: GrantHandler = async (context, { client, form, req }) => {
  const { settings, now, emit } = context;
  const asked = acceptedValue(readExchangeRequest(form));
  const delegate = findDelegate(context, client.client_id);
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

export function findDelegate({ settings }: AuthServerContext, id: string): DelegateClient {
  const found = settings.delegation?.clients.find(({ clientId }) => clientId === id);
  if (!found) throw new Refused('grant_type_unregistered');
  return found;
}

/** Party that acts with the new token, and the earlier actors. */
interface NamedActor {
  readonly actor: Actor;
  readonly earlier: Actor | undefined;
}

/** Returns the actors of the new token: the party of the actor token, else the actor that the subject token names, else the client. */
function actorsOf(
  context: AuthServerContext,
  subject: ExchangedToken,
  actorToken: ExchangedToken | undefined,
  clientId: string,
): Actor {
  const { actor, earlier } = namedActor(subject, actorToken, clientId);
  const cause = refusalOf(context, subject, actorToken, actor);
  if (cause !== undefined) throw new Refused('exchange_actor', { facts: { cause, actor: actor.sub } });
  return acceptedValue(withActor(actor, earlier));
}

function namedActor(
  { trusted, claims, issuer, act }: ExchangedToken,
  token: ExchangedToken | undefined,
  clientId: string,
): NamedActor {
  if (token) return { actor: { sub: token.subject, iss: token.issuer }, earlier: act };
  const claim = trusted?.exchange?.actorClaim;
  if (claim === undefined) return { actor: { sub: clientId }, earlier: act };
  const value = claims[claim];
  const sub = isObject(value) ? value['sub'] : value;
  if (typeof sub !== 'string' || sub === '') throw new Refused('exchange_actor', { facts: { cause: 'actor_claim' } });
  return { actor: { sub, iss: issuer }, earlier: claim === 'act' ? act?.act : act };
}

/** Returns the reason why this party may not act for the subject. */
function refusalOf(
  { settings }: AuthServerContext,
  { trusted, claims }: ExchangedToken,
  token: ExchangedToken | undefined,
  actor: Actor,
): string | undefined {
  const rules = trusted?.exchange;
  const honoursMayAct = rules === undefined || rules.allowMayAct;
  if (honoursMayAct && !mayAct(claims['may_act'], actor)) return 'may_act';
  if (!rules) return undefined;
  // Issuers name their actors independently: the list of one issuer does not mean the actors of another.
  const isKnown = !token || [settings.urls.issuer, trusted.url].includes(token.issuer);
  if (!isKnown) return 'actor_issuer';
  if (rules.actors && !rules.actors.includes(actor.sub)) return 'actor_not_listed';
  return rules.actorMatcher && !rules.actorMatcher.test(actor.sub) ? 'actor_mismatch' : undefined;
}
