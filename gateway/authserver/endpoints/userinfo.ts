import type { Request } from 'express';
import { type Operation, sendJson } from '../../http/endpoint/operation.ts';
import { readBearer } from '../../incoming/bearer.ts';
import type { AuthServerContext } from '../context.ts';
import { userinfoClaims } from '../core/token-endpoint/issued-claims.ts';
import { endpointPath } from '../../contract/paths/public-paths.ts';
import { wireError } from '../core/refusal.ts';
import { Refused } from '../http/refused.ts';
import { liveAccessToken, type LiveAccessToken } from '../tokens/presented-token.ts';

/** Returns the claims about the user that the scopes of the access token allow. @see OpenID Connect Core §5.3 */
export function userinfoEndpoint(context: AuthServerContext): readonly Operation[] {
  const handle: Operation['handle'] = async (req, res) => {
    const { claims, liveness } = await accessTokenOf(context, req);
    const scopes = (claims.scope ?? '').split(' ');
    if (!scopes.includes('openid')) throw refusal('bearer_scope', 'scope="openid"');
    const family = liveness && (await context.store.families.get(liveness.familyId));
    if (!family) throw refusal('bearer_invalid');
    sendJson(res, 200, userinfoClaims({ scopes, login: family.login }));
  };
  const both = { paths: [endpointPath('userinfo', context.settings.urls.issuer)], cors: true, handle };
  return [
    { method: 'GET', ...both },
    { method: 'POST', ...both },
  ];
}

async function accessTokenOf(context: AuthServerContext, req: Request): Promise<LiveAccessToken> {
  const bearer = readBearer(req.rawHeaders);
  switch (bearer.kind) {
    case 'none':
      throw new Refused('bearer_missing', { challenge: 'Bearer' });
    case 'malformed':
      throw refusal('bearer_malformed');
    case 'not_a_token':
      throw refusal('bearer_invalid');
    case 'token': {
      const found = await liveAccessToken(context, bearer.token);
      if (!found) throw refusal('bearer_invalid');
      return found;
    }
  }
}

/** Creates a refusal with a `Bearer` challenge. @see RFC 6750 §3 */
function refusal(reason: 'bearer_malformed' | 'bearer_invalid' | 'bearer_scope', ...parameters: string[]): Refused {
  const { error, description } = wireError(reason);
  const members = [...parameters, `error="${error}"`, `error_description="${description}"`];
  return new Refused(reason, { challenge: `Bearer ${members.join(', ')}` });
}
