import type { IncomingMessage } from 'node:http';
import type { Identity } from '../../contract/identity.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointUrl } from '../core/metadata.ts';
import { storageKeyOf } from '../core/opaque-token.ts';
import { assertionFault, readAssertionRequest } from '../core/token-request.ts';
import { delegatedAccess, delegatedLifespan } from '../core/token-endpoint/delegated-access.ts';
import { acceptedValue, Refused } from '../http/refused.ts';
import type { AssertionRules, TrustedIssuer } from '../settings.ts';
import type { Client } from '../storage/records.ts';
import { readForeignJwt, SKEW_MS, type ForeignJwt } from '../trust/trusted-issuers.ts';
import { foreignOwner, verifiedForeign } from './exchanged-token.ts';
import { signDelegated, type GrantHandler } from './issue.ts';
import { findDelegate } from './token-exchange.ts';

/** Scopes that only a login can grant. */
const LOGIN_SCOPES: readonly string[] = ['openid', 'offline_access'];

/** Issues a short token for an assertion of a trusted issuer about one of the configured subjects. @see RFC 7523 */
export const redeemAssertion: GrantHandler<Client | undefined> = async (context, { client, form, req }) => {
  const { settings, now, emit } = context;
  const { assertion, ...asked } = acceptedValue(readAssertionRequest(form));
  const { issuer, rules, identity } = await verifiedAssertion(context, assertion, req);
  const binding = rules.subjects.find(({ subject }) => subject === identity.subject);
  if (!binding) throw refusal(issuer, 'subject_not_bound');
  const issued = {
    audiences: settings.audiences,
    scopes: settings.scopesSupported.filter((scope) => !LOGIN_SCOPES.includes(scope)),
  };
  const bounds = [{ audiences: binding.resources }, client ? findDelegate(context, client.client_id) : {}];
  const access = acceptedValue(delegatedAccess(asked, issued, bounds));
  await markUsed(context, issuer, identity);
  const owner = await foreignOwner(context, identity);
  // A fragment cannot be part of a client id, so that no client has this one.
  const clientId = client?.client_id ?? `${issuer.url}#${identity.subject}`;
  const lifespan = delegatedLifespan(now(), settings.lifespans.accessToken, []);
  const reply = await signDelegated(context, { ...access, ...owner, clientId }, lifespan);
  emit('assertion_redeemed', { client_id: clientId, sub: owner.userId, issuer: issuer.url });
  return reply;
};

interface VerifiedAssertion {
  readonly issuer: TrustedIssuer;
  readonly rules: AssertionRules;
  readonly identity: Identity;
}

async function verifiedAssertion(
  context: AuthServerContext,
  assertion: string,
  req: IncomingMessage,
): Promise<VerifiedAssertion> {
  const jwt = readForeignJwt(assertion);
  if (!jwt) throw refusal(undefined, 'malformed');
  const issuer = context.trust.find(jwt);
  const rules = issuer?.assertions;
  if (!issuer || !rules) throw refusal(issuer, 'issuer');
  const limits = { now: context.now(), skewMs: SKEW_MS, maxAgeMs: rules.maxAgeMs };
  const fault = assertionFault(jwt.parts.header, jwt.claims, limits);
  if (fault !== undefined) throw refusal(issuer, fault);
  const audience = audienceOf(context, rules, jwt);
  if (audience === undefined) throw refusal(issuer, 'audience');
  const identity = await verifiedForeign(context, issuer, jwt, audience, { reason: 'assertion_invalid', req });
  return { issuer, rules, identity };
}

const refusal = (issuer: TrustedIssuer | undefined, cause: string): Refused =>
  new Refused('assertion_invalid', { facts: { ...(issuer && { issuer: issuer.url }), cause } });

/** Returns the accepted audience that the assertion has. By default these are the issuer and the token endpoint. */
function audienceOf(
  { settings: { urls } }: AuthServerContext,
  { audiences = [urls.issuer, endpointUrl('token', urls)] }: AssertionRules,
  { claims: { aud } }: ForeignJwt,
): string | undefined {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return audiences.find((audience) => named.includes(audience));
}

/** Marks the `jti` of an assertion as used, at all replicas. Throws `Refused` if it was used before. */
async function markUsed(
  { store, now }: AuthServerContext,
  issuer: TrustedIssuer,
  { claims: { jti }, expiresAt }: Identity,
): Promise<void> {
  if (typeof jti !== 'string') return;
  // Keep the mark longer than `exp`: the clock of another replica may be behind this one.
  const keepMs = Math.ceil(expiresAt + 2 * SKEW_MS - now());
  const isNew = await store.locks.acquire(`assertion-grant:${storageKeyOf(`${issuer.url} ${jti}`)}`, keepMs);
  if (!isNew) throw refusal(issuer, 'replayed');
}
