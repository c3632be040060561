import { JWT_BEARER, LOGIN_GRANT_TYPES, TOKEN_EXCHANGE, type GrantType } from '../core/token-request.ts';
import { Refused } from '../http/refused.ts';
import { redeemAuthorizationCode } from './authorization-code.ts';
import type { Client } from '../storage/records.ts';
import type { GrantHandler } from './issue.ts';
import { redeemAssertion } from './jwt-bearer.ts';
import { redeemRefreshToken } from './refresh-token.ts';
import { exchangeToken } from './token-exchange.ts';
import type { AuthServerSettings } from '../settings.ts';

/** Grant type at the token endpoint. */
interface Grant {
  /** False: a request without a client id and credentials is accepted. */
  readonly needsClient: boolean;
  readonly redeem: GrantHandler<Client | undefined>;
}

const ofClients = (redeem: GrantHandler): Grant => ({
  needsClient: true,
  redeem: (context, { client, ...request }) => {
    if (!client) throw new Refused('client_authentication');
    return redeem(context, { ...request, client });
  },
});

/** Grants by `grant_type`. A new grant is one file, its name in `GrantType`, and one line here. */
export const GRANTS: Readonly<Record<GrantType, Grant>> = {
  authorization_code: ofClients(redeemAuthorizationCode),
  refresh_token: ofClients(redeemRefreshToken),
  [TOKEN_EXCHANGE]: ofClients(exchangeToken),
  [JWT_BEARER]: { needsClient: false, redeem: redeemAssertion },
};

/** Returns the grants that the configuration allows. */
export function supportedGrantTypes({ delegation }: Pick<AuthServerSettings, 'delegation'>): readonly GrantType[] {
  const { clients, issuers } = delegation ?? { clients: [], issuers: [] };
  return [
    ...LOGIN_GRANT_TYPES,
    ...(clients.length > 0 ? ([TOKEN_EXCHANGE] as const) : []),
    ...(issuers.some(({ assertions }) => assertions) ? ([JWT_BEARER] as const) : []),
  ];
}
