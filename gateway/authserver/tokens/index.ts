import { TOKEN_EXCHANGE, type GrantType } from '../core/token-request.ts';
import { redeemAuthorizationCode } from './authorization-code.ts';
import type { GrantHandler } from './grant.ts';
import { redeemRefreshToken } from './refresh-token.ts';
import { exchangeToken } from './token-exchange.ts';

/** Grants by `grant_type`. A new grant is one file, its name in `GrantType`, and one line here. */
export const GRANTS: Readonly<Record<GrantType, GrantHandler>> = {
  authorization_code: redeemAuthorizationCode,
  refresh_token: redeemRefreshToken,
  [TOKEN_EXCHANGE]: exchangeToken,
};
