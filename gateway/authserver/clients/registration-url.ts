import { endpointUrl, type ServerUrls } from '../core/metadata.ts';

/** Returns the URL at which a client reads and deletes its registration. @see RFC 7592 §3 */
export const registrationUrl = (urls: ServerUrls, clientId: string): string =>
  `${endpointUrl('register', urls)}/${encodeURIComponent(clientId)}`;
