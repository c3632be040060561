import { metadataAt } from '../../probes/issuer.ts';
import { unreachable, type OnlineCheck } from '../online-check.ts';

/** Checks that a provider registers clients, where the gateway has no `clientId` there. */
export const registration: OnlineCheck = async ({ value, metadata: place }, { get }) => {
  const metadata = place && (await metadataAt(place, get));
  if (!metadata) return unreachable(`${value} has no metadata of a provider: start it, or correct the URL`);
  if (typeof metadata['registration_endpoint'] === 'string') return undefined;
  const message = `${value} offers no registration of clients, its metadata have no registration_endpoint: register the gateway there by hand, and set clientId in place of dcrConfig`;
  return { severity: 'problem', reason: 'RegistrationNotOffered', message };
};
