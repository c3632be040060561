import type { AuthServerSettings } from '../settings.ts';

/** Returns true while an issuer is configured as trusted. Tokens of its subjects end when it is removed. */
export const trusts = ({ delegation }: Pick<AuthServerSettings, 'delegation'>, issuer: string | undefined): boolean =>
  delegation?.issuers.some(({ url }) => url === issuer) ?? false;
