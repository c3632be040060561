import type { Request } from 'express';
import type { Operation } from '../../http/endpoint/operation.ts';
import { NO_STORE, sendJson } from '../../http/endpoint/replies.ts';
import { authorizeRegistration, clientInformation, registrationUrl } from '../clients/registration.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../../contract/paths/auth-server-paths.ts';
import { Refused } from '../http/refused.ts';

/** Lets a registered client read and delete its own registration. @see RFC 7592 §2 */
export function registrationEndpoint(context: AuthServerContext): readonly Operation[] {
  const { settings, clients, sessions, emit } = context;
  const paths = [`${endpointPath('register', settings.urls.issuer)}/{client_id}`];
  return [
    {
      ...{ method: 'GET', paths, cors: true },
      handle: async (req, res) => {
        const { client, token } = await authorized(context, req);
        sendJson(res, 200, clientInformation(client, token, registrationUrl(settings.urls, client.client_id)));
      },
    },
    {
      ...{ method: 'DELETE', paths, cors: true },
      handle: async (req, res) => {
        const { client } = await authorized(context, req);
        const { client_id: clientId } = client;
        // Before the client is deleted, so that it can retry after a store failure; and after, for logins that started meanwhile.
        await sessions.endAllOf(clientId);
        await clients.delete(client);
        await sessions.endAllOf(clientId);
        emit('client_deleted', { client_id: clientId });
        res.status(204).set(NO_STORE).end();
      },
    },
  ];
}

async function authorized({ clients }: AuthServerContext, req: Request) {
  const [authorization, second] = req.headersDistinct['authorization'] ?? [];
  if (second !== undefined) throw new Refused('authorization_doubled');
  const clientId = req.path.slice(req.path.lastIndexOf('/') + 1);
  const access = authorizeRegistration(authorization, await clients.known(clientId));
  if (access.ok) return access;
  throw new Refused('registration_token', { challenge: access.challenge, facts: { cause: access.reason } });
}
