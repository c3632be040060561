import { principalOfPair, Secret, type Identity } from '../../contract/identity.ts';

export const ISSUER = 'https://login.example.com';

/** A caller whose token is `<subject>-token` and lives for an hour after `now`. */
export const callerOf = (subject: string, now: number, more: Partial<Identity> = {}): Identity => ({
  principal: principalOfPair(ISSUER, subject),
  issuer: ISSUER,
  subject,
  clientId: 'desktop',
  scopes: new Set(),
  claims: { sub: subject },
  token: new Secret(`${subject}-token`),
  expiresAt: now + 3_600_000,
  tsid: `tsid-of-${subject}`,
  ...more,
});
