import type { GrantType } from '../core/token-request.ts';
import { redeemAuthorizationCode } from './authorization-code.ts';
import type { GrantHandler } from './grant.ts';
import { redeemRefreshToken } from './refresh-token.ts';

/** Grants by `grant_type`. A new grant is one file, its name in `GRANT_TYPES`, and one line here. */
export const GRANTS: Readonly<Record<GrantType, GrantHandler>> = {
  authorization_code: redeemAuthorizationCode,
  refresh_token: redeemRefreshToken,
};
