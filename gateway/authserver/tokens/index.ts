import { JWT_BEARER, TOKEN_EXCHANGE, type GrantType } from '../core/token-request.ts';
import { Refused } from '../http/refused.ts';
import { redeemAuthorizationCode } from './authorization-code.ts';
import type { Grant, GrantHandler } from './grant.ts';
import { redeemAssertion } from './jwt-bearer.ts';
import { redeemRefreshToken } from './refresh-token.ts';
import { exchangeToken } from './token-exchange.ts';

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
