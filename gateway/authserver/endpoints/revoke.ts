import { defineOperation, type Operation, sendJson } from '../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../../contract/paths/public-paths.ts';
import { Refused } from '../http/refused.ts';
import type { FamilyRef } from '../storage/records.ts';
import { clientOfRequest, clientParameters, failureBudget, TokenForm } from '../tokens/client-of-request.ts';
import { familyOfRefreshToken, isDelegated, liveAccessToken } from '../tokens/presented-token.ts';

/** Ends the login of a token of this client. The response is the same for every token. @see RFC 7009 §2 */
export function revokeEndpoint(context: AuthServerContext): readonly Operation[] {
  const authenticate = clientOfRequest(context, 'revoke', failureBudget(context));
  return [
    defineOperation({
      method: 'POST',
      paths: [endpointPath('revoke', context.settings.urls.issuer)],
      cors: true,
      input: { form: TokenForm },
      handle: async (req, res, { form }) => {
        const { client_id: clientId } = await authenticate(req, clientParameters(form));
        const family = await familyOf(context, form.token, clientId);
        if (family) {
          await context.sessions.end(family);
          context.emit('revoked', { client_id: clientId, family: family.id });
        }
        sendJson(res, 200, {});
      },
    }),
  ];
}

async function familyOf(context: AuthServerContext, token: string, clientId: string): Promise<FamilyRef | undefined> {
  const refresh = await familyOfRefreshToken(context, token);
  if (refresh) return refresh.family.clientId === clientId ? refresh.family : undefined;
  const access = await liveAccessToken(context, token);
  if (access?.claims.client_id !== clientId) return undefined;
  if (isDelegated(access.claims)) throw new Refused('token_type_delegated'); // the client may not end the login of the user
  const { claims, liveness } = access;
  return liveness && claims.tsid !== undefined ? { id: liveness.familyId, tsid: claims.tsid } : undefined;
}
