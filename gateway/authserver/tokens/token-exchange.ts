import type { AuthServerContext } from '../context.ts';
import { withActor, mayAct, type Actor } from '../core/token-endpoint/actor.ts';
import {
  delegatedAccess,
  delegatedLifespan,
  type DelegatedAccess,
  type DelegatedGrant,
} from '../core/token-endpoint/delegated-access.ts';
import { ISSUED_TYPE, readExchangeRequest, type ExchangeRequest } from '../core/token-endpoint/exchange-request.ts';
import { acceptedValue } from '../http/accepted-value.ts';
import { Refused } from '../http/refused.ts';
import type { DelegateClient } from '../settings.ts';
import type { GrantHandler, GrantRequest } from './grant.ts';
import { signDelegated } from './issue.ts';
import { exchangedToken, type ExchangedToken } from './exchanged-token.ts';

/**
 * Exchanges a token of a user for a short one with which the client, or the party that it names, acts for the user. The new token
 * has no more access than the client and the subject token, and ends with the login of the subject. @see RFC 8693
 */
export const exchangeToken: GrantHandler = async (context, request) => {
  const asked = acceptedValue(readExchangeRequest(request.form));
  const delegate = delegateOf(context, request);
  const subject = await exchangedToken(context, asked.subjectToken, 'exchange_subject');
  const actor = await actorOf(context, asked, request);
  if (!mayAct(subject.mayAct, actor.name)) throw new Refused('exchange_actor', { facts: { cause: 'may_act' } });
  const chain = acceptedValue(withActor(actor.name, subject.act));
  const access = accessOf(context, asked, delegate, subject);
  const expiries = [subject.expiresAt, ...(actor.token ? [actor.token.expiresAt] : [])];
  const lifespan = delegatedLifespan(context.now(), context.settings.lifespans.accessToken, expiries);
  if (lifespan === 0) throw new Refused('exchange_subject', { facts: { cause: 'expired' } });
  const grant = grantOf(delegate, subject, access, chain);
  const reply = await signDelegated(context, grant, lifespan);
  const { login, userId } = subject;
  context.emit('token_exchanged', {
    ...{ client_id: delegate.clientId, sub: userId, actor: actor.name.sub },
    family: login.familyId,
  });
  return { ...reply, issued_token_type: ISSUED_TYPE };
};

function delegateOf({ settings }: AuthServerContext, { client }: GrantRequest): DelegateClient {
  const found = settings.delegation?.clients.find(({ clientId }) => clientId === client.client_id);
  if (!found) throw new Refused('grant_type_unregistered');
  return found;
}

interface PresentedActor {
  readonly name: Actor;
  readonly token?: ExchangedToken;
}

/** Returns the party of the actor token, or the client itself. */
async function actorOf(
  context: AuthServerContext,
  { actorToken }: ExchangeRequest,
  { client }: GrantRequest,
): Promise<PresentedActor> {
  if (actorToken === undefined) return { name: { sub: client.client_id } };
  const token = await exchangedToken(context, actorToken, 'exchange_actor');
  return { name: { sub: token.subject, iss: token.issuer }, token };
}

const accessOf = (
  { settings }: AuthServerContext,
  asked: ExchangeRequest,
  delegate: DelegateClient,
  subject: ExchangedToken,
): DelegatedAccess =>
  acceptedValue(
    delegatedAccess(asked, { audiences: settings.audiences, scopes: settings.scopesSupported }, [delegate, subject]),
  );

const grantOf = (
  { clientId }: DelegateClient,
  { userId, name, email, login }: ExchangedToken,
  access: DelegatedAccess,
  actor: Actor,
): DelegatedGrant => ({ ...access, clientId, userId, name, email, login, actor });
