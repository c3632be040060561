import type { IncomingMessage } from 'node:http';
import type { Identity } from '../../contract/identity.ts';
import { DependencyDown, TokenRefused } from '../../incoming/refusal.ts';
import type { AuthServerContext } from '../context.ts';
import type { RefusalReason } from '../core/refusal.ts';
import { Refused } from '../http/refused.ts';
import type { TrustedIssuer } from '../settings.ts';
import type { ForeignJwt } from '../trust/foreign-jwt.ts';

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
