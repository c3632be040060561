import type { IncomingMessage } from 'node:http';
import type { Identity } from '../../contract/identity.ts';
import type { AuthServerContext } from '../context.ts';
import {
  readActor,
  type AccessBounds,
  type Actor,
  type DelegatedGrant,
} from '../core/token-endpoint/delegated-access.ts';
import { acceptedValue, Refused } from '../http/refused.ts';
import { resolveUser } from '../login/resolve-user.ts';
import type { TrustedIssuer } from '../settings.ts';
import { readForeignJwt, type ForeignJwt } from '../trust/trusted-issuers.ts';
import { liveAccessToken } from './presented-token.ts';
import { DependencyDown, TokenRefused } from '../../incoming/refusal.ts';
import type { RefusalReason } from '../core/refusal.ts';

/** Valid subject or actor token of an exchange, with the limits that it puts on the new token. */
export interface ExchangedToken extends AccessBounds {
  readonly issuer: string;
  /** Subject at the issuer. */
  readonly subject: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
  readonly act: Actor | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Issuer of a foreign token. */
  readonly trusted?: TrustedIssuer;
  /** Returns the user of the new token, and the login that it ends with. Creates an unknown user of another issuer. */
  owner(): Promise<Pick<DelegatedGrant, 'userId' | 'name' | 'email' | 'login' | 'subjectIssuer'>>;
  readonly familyId?: string | undefined;
}

interface Presented {
  readonly token: string;
  readonly reason: 'exchange_subject' | 'exchange_actor';
  /** Client that presents the token. */
  readonly clientId: string;
  readonly req: IncomingMessage;
}

/** Verifies a live token of this server, or a token of a trusted issuer that this client may present. Throws `Refused`. */
export async function exchangedToken(context: AuthServerContext, presented: Presented): Promise<ExchangedToken> {
  const jwt = readForeignJwt(presented.token);
  if (!jwt) throw new Refused(presented.reason, { facts: { cause: 'malformed' } });
  return jwt.claims['iss'] === context.settings.urls.issuer
    ? ownToken(context, presented)
    : foreignToken(context, jwt, presented);
}

async function ownToken(context: AuthServerContext, { token, reason }: Presented): Promise<ExchangedToken> {
  const found = await liveAccessToken(context, token);
  if (!found) throw new Refused(reason, { facts: { cause: 'token' } });
  const { claims, liveness } = found;
  const { sub, aud, scope = '', exp, tsid, subject_issuer: subjectIssuer } = claims;
  const login = liveness && tsid !== undefined ? { tsid, clientId: liveness.clientId } : undefined;
  const owner = { userId: sub, name: textOf(claims['name']), email: textOf(claims['email']), login, subjectIssuer };
  return {
    ...{ issuer: context.settings.urls.issuer, subject: sub, audiences: [aud], expiresAt: exp * 1_000, claims },
    scopes: scope.split(' ').filter((one) => one !== ''),
    act: acceptedValue(readActor(claims['act'])),
    owner: async () => owner,
    familyId: liveness?.familyId,
  };
}

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);

/** Verifies a token of a trusted issuer. Its scopes are those of another server and limit nothing here. */
async function foreignToken(
  context: AuthServerContext,
  jwt: ForeignJwt,
  { reason, clientId, req }: Presented,
): Promise<ExchangedToken> {
  const trusted = context.trust.find(jwt);
  const rules = trusted?.exchange;
  if (!trusted || !rules) throw new Refused(reason, { facts: { cause: 'issuer' } });
  const { url } = trusted;
  if (!rules.clients.includes('*') && !rules.clients.includes(clientId))
    throw new Refused(reason, { facts: { issuer: url, cause: 'client' } });
  const identity = await verifiedForeign(context, trusted, jwt, rules.audience, { reason, req });
  const { subject, expiresAt, claims } = identity;
  const act = acceptedValue(readActor(claims['act']));
  return {
    ...{ issuer: url, subject, expiresAt, claims, trusted },
    act: act && ofIssuer(act, url),
    owner: () => foreignOwner(context, identity),
  };
}

/** Adds the issuer to the actors that have none: without an issuer they would be clients of this server. */
const ofIssuer = ({ sub, iss = '', act }: Actor, issuer: string): Actor => ({
  sub,
  iss: iss === '' ? issuer : iss,
  ...(act && { act: ofIssuer(act, issuer) }),
});

/** Finds or creates the user of a foreign subject, who is never a user that has logged in here. */
export async function foreignOwner(
  context: AuthServerContext,
  { issuer, subject }: Identity,
): Promise<{ readonly userId: string; readonly subjectIssuer: string }> {
  const { userId } = await resolveUser(context, issuer, { subject, synthetic: false });
  return { userId, subjectIssuer: issuer };
}

/** Verifies a token of a trusted issuer. Throws `Refused` with `reason`, or with 503 while its keys are unavailable. */
export async function verifiedForeign(
  { trust }: AuthServerContext,
  issuer: TrustedIssuer,
  jwt: ForeignJwt,
  audience: string,
  { reason, req }: { readonly reason: RefusalReason; readonly req: IncomingMessage },
): Promise<Identity> {
  const { url } = issuer;
  try {
    return await trust.verify(issuer, jwt, audience, req);
  } catch (error) {
    if (error instanceof TokenRefused) throw new Refused(reason, { facts: { issuer: url, cause: error.reason } });
    if (!(error instanceof DependencyDown)) throw error;
    const { retryAfterSeconds, message: detail } = error;
    throw new Refused('issuer_keys', { retryAfterSeconds, facts: { issuer: url, detail } });
  }
}
