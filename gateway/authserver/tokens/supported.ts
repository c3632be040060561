import { JWT_BEARER, LOGIN_GRANT_TYPES, TOKEN_EXCHANGE, type GrantType } from '../core/token-request.ts';
import type { AuthServerSettings } from '../settings.ts';

/** Returns the grants that the configuration allows. */
export function grantTypesOf({ delegation }: Pick<AuthServerSettings, 'delegation'>): readonly GrantType[] {
  const { clients, issuers } = delegation ?? { clients: [], issuers: [] };
  return [
    ...LOGIN_GRANT_TYPES,
    ...(clients.length > 0 ? ([TOKEN_EXCHANGE] as const) : []),
    ...(issuers.some(({ assertions }) => assertions) ? ([JWT_BEARER] as const) : []),
  ];
}
