import type { Request } from 'express';
import { type Operation, sendJson } from '../../http/endpoint/operation.ts';
import type { AuthServerContext } from '../context.ts';
import type { Client } from '../storage/records.ts';
import { endpointPath } from '../../contract/paths/public-paths.ts';
import { wireError } from '../core/refusal.ts';
import type { RequestParameters } from '../core/request-parameters.ts';
import { readGrantType, type GrantType } from '../core/token-request.ts';
import { acceptedValue, Refused } from '../http/refused.ts';
import { readForm } from '../http/requests.ts';
import { clientOfRequest, failureBudget } from '../tokens/client-of-request.ts';
import { GRANTS, supportedGrantTypes } from '../tokens/index.ts';

/** Token endpoint. @see RFC 6749 §3.2 */
export function tokenEndpoint(context: AuthServerContext): readonly Operation[] {
  const budget = failureBudget(context);
  const authenticate = clientOfRequest(context, 'token', budget);

  /** Returns undefined for a request without a client, if the grant needs none. */
  const clientOf = async (type: GrantType, req: Request, form: RequestParameters): Promise<Client | undefined> => {
    if (!GRANTS[type].needsClient && !namesClient(req, form)) return undefined;
    const client = await authenticate(req, form.firsts);
    if (!client.metadata.grant_types.includes(type)) throw new Refused('grant_type_unregistered');
    return client;
  };

  return [
    {
      method: 'POST',
      paths: [endpointPath('token', context.settings.urls.issuer)],
      cors: true,
      handle: async (req, res) => {
        const form = await readForm(req);
        const type = acceptedValue(readGrantType(form, supportedGrantTypes(context.settings)));
        const client = await clientOf(type, req, form);
        try {
          sendJson(res, 200, await GRANTS[type].redeem(context, { client, form, req }));
        } catch (thrown) {
          if (type === 'authorization_code' && client && isGuess(thrown))
            await budget.charge(client.client_id, req, thrown);
          throw thrown;
        }
      },
    },
  ];
}

const CLIENT_PARAMETERS = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'];

const namesClient = (req: Request, form: RequestParameters): boolean =>
  req.headers.authorization !== undefined || CLIENT_PARAMETERS.some((name) => form.one(name) !== undefined);

/**
 * Returns true for a rejected code, which counts as a guess. A rejected refresh token does not: after a loss of the keys every
 * user of a public client presents one, perhaps all from the address of one proxy, and each client must learn that its login
 * has ended.
 */
const isGuess = (thrown: unknown): thrown is Refused =>
  thrown instanceof Refused && wireError(thrown.reason).error === 'invalid_grant';
