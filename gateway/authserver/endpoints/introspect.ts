import { defineOperation, type Operation, sendJson } from '../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../../contract/paths/public-paths.ts';
import { formatScope } from '../core/scope.ts';
import { Refused } from '../http/refused.ts';
import {
  BASIC_CHALLENGE,
  clientOfRequest,
  clientParameters,
  failureBudget,
  TokenForm,
} from '../tokens/client-of-request.ts';
import { familyOfRefreshToken, liveAccessToken } from '../tokens/presented-token.ts';

/** Introspection endpoint: describes tokens to the confidential client that they were issued to. @see RFC 7662 §2 */
export function introspectEndpoint(context: AuthServerContext): readonly Operation[] {
  const authenticate = clientOfRequest(context, 'introspect', failureBudget(context));
  return [
    defineOperation({
      method: 'POST',
      paths: [endpointPath('introspect', context.settings.urls.issuer)],
      input: { form: TokenForm },
      handle: async (req, res, { form }) => {
        const client = await authenticate(req, clientParameters(form));
        if (client.metadata.token_endpoint_auth_method === 'none')
          throw new Refused('client_authentication', { challenge: BASIC_CHALLENGE, facts: { cause: 'public_client' } });
        sendJson(res, 200, (await describe(context, form.token, client.client_id)) ?? { active: false });
      },
    }),
  ];
}

/** Returns undefined unless this is a valid token of this client. */
const describe = async (context: AuthServerContext, token: string, clientId: string): Promise<object | undefined> =>
  (await describeRefreshToken(context, token, clientId)) ?? describeAccessToken(context, token, clientId);

async function describeRefreshToken(
  context: AuthServerContext,
  token: string,
  clientId: string,
): Promise<object | undefined> {
  const found = await familyOfRefreshToken(context, token);
  if (found?.current !== true || found.family.clientId !== clientId) return undefined;
  const { scopes, resource, login, createdAt, expiresAt } = found.family;
  return {
    active: true,
    iss: context.settings.urls.issuer,
    client_id: clientId,
    sub: login.userId,
    aud: resource,
    scope: formatScope(scopes),
    iat: Math.floor(createdAt / 1_000),
    exp: Math.floor(expiresAt / 1_000),
  };
}

async function describeAccessToken(
  context: AuthServerContext,
  token: string,
  clientId: string,
): Promise<object | undefined> {
  const claims = (await liveAccessToken(context, token))?.claims;
  if (claims?.client_id !== clientId) return undefined;
  const { iss, sub, aud, scope, iat, exp, jti, act } = claims;
  return { active: true, token_type: 'Bearer', iss, client_id: clientId, sub, aud, scope, iat, exp, jti, act };
}
