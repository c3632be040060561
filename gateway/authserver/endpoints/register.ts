import { JSON_TYPE, readBodyText } from '../../http/endpoint/body-text.ts';
import type { Operation } from '../../http/endpoint/operation.ts';
import { sendJson } from '../../http/endpoint/replies.ts';
import { EVERYBODY } from '../../http/addresses/address-key.ts';
import { CLIENT_LIFE_MS } from '../clients/directory.ts';
import type { RegistrationErrorCode } from '../clients/metadata/metadata-members.ts';
import { readRegistration, register, registrationError, registrationReply } from '../clients/registration.ts';
import type { ClientMetadata } from '../storage/client.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../core/metadata.ts';
import type { RefusalReason } from '../core/refusal.ts';
import { spend, spendOfAddress } from '../http/limits.ts';
import { Refused } from '../http/refused.ts';
import { registrationUrl } from '../clients/registration-url.ts';

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
        const registration = register(metadata, { now: now(), random });
        await storeClient(context, registration.client);
        emit('client_registered', { client_id: registration.client.client_id });
        const url = registrationUrl(settings.urls, registration.client.client_id);
        sendJson(res, 201, registrationReply(registration, url));
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

async function storeClient(
  { store, settings }: AuthServerContext,
  client: Parameters<typeof store.clients.register>[0],
) {
  const { unused, contested } = CLIENT_LIFE_MS;
  const outcome = await store.clients.register(client, unused, settings.clients.maxRegistered, contested);
  switch (outcome.kind) {
    case 'registered':
      return;
    case 'full':
      throw new Refused('capacity', { retryAfterSeconds: Math.max(1, Math.ceil(outcome.retryAfterMs / 1_000)) });
    case 'exists':
      throw new Error('a random client id exists already');
  }
}
