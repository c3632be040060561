import { LOGIN_GRANT_TYPES, TOKEN_EXCHANGE, type GrantType } from '../core/token-request.ts';
import type { AuthServerSettings } from '../settings.ts';

/** Returns the grants that the configuration allows. */
export const grantTypesOf = ({ delegation }: Pick<AuthServerSettings, 'delegation'>): readonly GrantType[] => [
  ...LOGIN_GRANT_TYPES,
  ...(delegation && delegation.clients.length > 0 ? ([TOKEN_EXCHANGE] as const) : []),
];
