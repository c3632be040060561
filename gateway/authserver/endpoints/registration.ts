import type { Request } from 'express';
import { type Operation, NO_STORE, sendJson } from '../../http/endpoint/operation.ts';
import {
  authorizeRegistration,
  clientInformation,
  readRegistration,
  createClient,
  registrationError,
  registrationReply,
  registrationUrl,
} from '../clients/registration.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../../contract/paths/public-paths.ts';
import { Refused } from '../http/refused.ts';
import { JSON_TYPE, readBodyText } from '../../http/endpoint/body-text.ts';
import { EVERYBODY } from '../../http/client-address.ts';
import type { RegistrationErrorCode } from '../clients/metadata/metadata-members.ts';
import type { Client, ClientMetadata } from '../storage/records.ts';
import type { RefusalReason } from '../core/refusal.ts';
import { spend, spendOfAddress } from '../http/requests.ts';

/** Registration endpoint: any client may register itself. @see RFC 7591 §3 */
export function registerEndpoint(context: AuthServerContext): readonly Operation[] {
  const { settings, addressOf, now, random, emit } = context;
  return [
    {
      method: 'POST',
      paths: [endpointPath('register', settings.urls.issuer)],
      cors: true,
      handle: async (req, res) => {
        await chargeRegistration(addressOf(req), context);
        const metadata = metadataOf(await readBodyText(req, JSON_TYPE), context);
        const made = createClient(metadata, { now: now(), random });
        const client = await admit(context, made.client);
        emit('client_registered', { client_id: client.client_id });
        const url = registrationUrl(settings.urls, client.client_id);
        sendJson(res, 201, registrationReply({ ...made, client }, url));
      },
    },
  ];
}

/** Charges the limit of the client address, if it is known, and the limit of all clients together. */
async function chargeRegistration(address: string | undefined, { store, settings }: AuthServerContext): Promise<void> {
  const { registrationsPerAddress: perAddress, registrations: overall } = settings.limits;
  await spendOfAddress(store.rates, 'register', address, { perAddress, overall });
  if (address !== undefined) await spend(store.rates, 'register', EVERYBODY, overall);
}

const REASONS: Readonly<Record<RegistrationErrorCode, RefusalReason>> = {
  invalid_redirect_uri: 'registration_redirect_uri',
  invalid_client_metadata: 'registration_metadata',
  invalid_software_statement: 'registration_statement',
};

function metadataOf(body: string, { settings }: AuthServerContext): ClientMetadata {
  const reading = readRegistration(body, settings.clients.metadata);
  if (reading.ok) return reading.metadata;
  const { error, error_description: description } = registrationError(reading.problems).body;
  throw new Refused(REASONS[error], { description });
}

async function admit({ clients }: AuthServerContext, client: Client): Promise<Client> {
  const admission = await clients.register(client);
  if (admission.ok) return admission.client;
  throw new Refused('capacity', { retryAfterSeconds: Math.max(1, Math.ceil(admission.retryAfterMs / 1_000)) });
}

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
