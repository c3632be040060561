import type { AuthServerContext } from '../context.ts';
import { mayAct, withActor, type Actor } from '../core/token-endpoint/delegated-access.ts';
import { acceptedValue } from '../http/accepted-value.ts';
import { Refused } from '../http/refused.ts';
import type { ExchangedToken } from './exchanged-token.ts';
import { isObject } from '../../contract/json.ts';

/** Party that acts with the new token, and the earlier actors. */
interface NamedActor {
  readonly actor: Actor;
  readonly earlier: Actor | undefined;
}

/** Returns the actors of the new token: the party of the actor token, else the one that the subject token names, else the client. */
export function actorsOf(
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
  // Issuers name their actors independently: the list of one does not mean those of another.
  const isKnown = !token || [settings.urls.issuer, trusted.url].includes(token.issuer);
  if (!isKnown) return 'actor_issuer';
  if (rules.actors && !rules.actors.includes(actor.sub)) return 'actor_not_listed';
  return rules.actorMatcher && !rules.actorMatcher.test(actor.sub) ? 'actor_mismatch' : undefined;
}
