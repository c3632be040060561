import { JSON_TYPE, readBodyText } from '../../http/endpoint/body-text.ts';
import type { Operation } from '../../http/endpoint/operation.ts';
import { sendJson } from '../../http/endpoint/replies.ts';
import { EVERYBODY } from '../../http/addresses/address-key.ts';
import type { RegistrationErrorCode } from '../clients/metadata/metadata-members.ts';
import {
  readRegistration,
  register,
  registrationError,
  registrationReply,
  registrationUrl,
} from '../clients/registration.ts';
import type { Client, ClientMetadata } from '../storage/records.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../../contract/paths/auth-server-paths.ts';
import type { RefusalReason } from '../core/refusal.ts';
import { spend, spendOfAddress } from '../http/requests.ts';
import { Refused } from '../http/refused.ts';

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
        const made = register(metadata, { now: now(), random });
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
