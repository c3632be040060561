import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { MAX_CLIENT_ID_LENGTH } from '../core/authorization.ts';
import type { ServerUrls } from '../core/metadata.ts';
import type { SecretRing } from '../core/opaque-token.ts';
import type { Client } from '../storage/records.ts';
import { createSealer } from '../storage/sealing.ts';

/** Registered clients whose client id contains their registration, so that they need no room in the store. */
interface SealedClients {
  /** Returns the client with a client id that contains it; undefined when the id would be too long. */
  seal(client: Client): Client | undefined;
  /** Returns undefined for every client id that this server has not sealed, or whose time is over. */
  open(clientId: string): Client | undefined;
  /** Returns the time until the client id expires; 0 when it does not contain a client. */
  remainingMs(clientId: string): number;
}

interface SealedClientsDeps {
  /** Servers with other issuers may share the secrets, but no clients. */
  readonly urls: Pick<ServerUrls, 'issuer'>;
  /** Returns the current HMAC secrets. */
  readonly secrets: () => SecretRing;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Lifetime of a client id. */
  readonly lifeMs: number;
}

const PREFIX = 'vcl_';
/** Separates the key of the seal from the rest. No stored client has one in its id. */
const MARK = '.';
/** Twice the longest body of a registration. */
const MAX_TEXT_BYTES = 131_072;

/**
 * Usual parts of registrations, the most usual ones last. They halve the length of the ids. Another text here makes the
 * unused ids of the previous release unknown.
 */
const DICTIONARY = Buffer.from(
  '"software_version":"1.0.0","software_id":"","application_type":"web","application_type":"native","logo_uri":"https://' +
    '","tos_uri":"https://","policy_uri":"https://","post_logout_redirect_uris":["https://www.example.com/callback",' +
    '"client_uri":"https://github.com/"http://127.0.0.1:"http://localhost:/oauth/callback/debug"cursor://vscode://' +
    '"token_endpoint_auth_method":"client_secret_basic","token_endpoint_auth_method":"client_secret_post",' +
    '"secretHash":"","registrationTokenHash":""issuedAt":1{"metadata":{"redirect_uris":["http://localhost/callback"],' +
    '"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],' +
    '"response_types":["code"],"scope":"openid profile email offline_access","client_name":"',
);

/** Returns true for a client id that was made to contain its client. */
export const isSealedClient = (clientId: string): boolean => clientId.startsWith(PREFIX) && clientId.includes(MARK);

export function createSealedClients({ urls, secrets, now, lifeMs }: SealedClientsDeps): SealedClients {
  const sealer = createSealer(secrets);
  const purpose = (): string => `client ${urls.issuer}`;
  const leftMs = ({ issuedAt }: Client): number => issuedAt + lifeMs - now();

  const open = (clientId: string): Client | undefined => {
    if (!isSealedClient(clientId) || clientId.length > MAX_CLIENT_ID_LENGTH) return undefined;
    const packed = sealer.openBytes(purpose(), clientId.slice(PREFIX.length));
    const client = packed && unpacked(packed, clientId);
    return client && leftMs(client) > 0 ? client : undefined;
  };

  return {
    open,
    seal(client) {
      const id = `${PREFIX}${sealer.seal(purpose(), pack(client))}`;
      return id.length <= MAX_CLIENT_ID_LENGTH ? { ...client, client_id: id } : undefined;
    },
    remainingMs(clientId) {
      const client = open(clientId);
      return client ? leftMs(client) : 0;
    },
  };
}

function pack({ client_id: _id, source: _source, ...content }: Client): Uint8Array {
  return deflateRawSync(JSON.stringify(content), { level: 9, dictionary: DICTIONARY });
}

/** Returns undefined for what a release with another dictionary packed. */
function unpacked(packed: Uint8Array, clientId: string): Client | undefined {
  try {
    const text = inflateRawSync(packed, { dictionary: DICTIONARY, maxOutputLength: MAX_TEXT_BYTES }).toString('utf8');
    const content = JSON.parse(text) as Omit<Client, 'client_id' | 'source'>;
    return { client_id: clientId, source: 'registered', ...content };
  } catch {
    return undefined;
  }
}
