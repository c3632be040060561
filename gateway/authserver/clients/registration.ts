import { Secret } from '../../contract/identity.ts';
import type { Client, ClientMetadata } from '../storage/records.ts';
import { readMetadata, type MetadataReading, type MetadataRules } from './metadata/client-metadata.ts';
import { parseJsonObject, type MetadataProblem, type RegistrationErrorCode } from './metadata/metadata-members.ts';
import { matchesSecretHash, secretHash } from './client-authentication.ts';
import { endpointUrl, type ServerUrls } from '../core/metadata.ts';

/** New client with its secrets, which exist only here and in the reply. */
interface Registration {
  readonly client: Client;
  readonly clientSecret?: Secret;
  readonly registrationToken: Secret;
}

interface RegistrationError {
  readonly status: 400;
  readonly body: { readonly error: RegistrationErrorCode; readonly error_description: string };
}

/** Reads the JSON body of a registration request, at most 64 KiB. @see RFC 7591 §3.1 */
export function readRegistration(body: string, rules: MetadataRules): MetadataReading {
  const members = parseJsonObject(body);
  if (members === undefined) return refused('invalid_client_metadata', 'the body must be a JSON object');
  if ((members.get('software_statement') ?? undefined) !== undefined)
    return refused('invalid_software_statement', 'software_statement is not supported: leave it out');
  for (const keys of ['jwks', 'jwks_uri']) {
    if ((members.get(keys) ?? undefined) !== undefined)
      return refused('invalid_client_metadata', `${keys} is not used here: leave it out`);
  }
  return readMetadata(members, rules, 'registration');
}

const refused = (error: RegistrationErrorCode, message: string): MetadataReading => ({
  ok: false,
  problems: [{ error, message }],
});

/** Returns one error code with all its descriptions. An invalid redirect URI takes precedence over other problems. */
export function registrationError(problems: readonly MetadataProblem[]): RegistrationError {
  const error = problems.find((one) => one.error === 'invalid_redirect_uri')?.error ?? problems[0]?.error;
  const messages = problems.filter((one) => one.error === error).map(({ message }) => message);
  const body = { error: error ?? 'invalid_client_metadata', error_description: messages.join('; ') };
  return { status: 400, body };
}

interface RegistrationFacts {
  /** ms since the epoch */
  readonly now: number;
  /** Returns this many bytes of cryptographic randomness. */
  readonly random: (bytes: number) => Buffer;
}

/** Creates a client. The prefixes of its secrets let secret scanners recognise leaked ones. */
export function createClient(metadata: ClientMetadata, { now, random }: RegistrationFacts): Registration {
  const make = (prefix: string, bytes: number): string => `${prefix}_${random(bytes).toString('base64url')}`;
  const clientSecret = metadata.token_endpoint_auth_method === 'none' ? undefined : make('vcs', 32);
  const registrationToken = make('vra', 32);
  const client: Client = {
    client_id: make('vcl', 16),
    source: 'registered',
    metadata,
    issuedAt: now,
    registrationTokenHash: secretHash(registrationToken),
    ...(clientSecret !== undefined && { secretHash: secretHash(clientSecret) }),
  };
  return {
    client,
    registrationToken: new Secret(registrationToken),
    ...(clientSecret !== undefined && { clientSecret: new Secret(clientSecret) }),
  };
}

/**
 * Returns the body of the 201 response. It contains the secrets: send it with `no-store` and never log it.
 * @see RFC 7591 §3.2.1, RFC 7592 §3
 */
export const registrationReply = (
  { client, clientSecret, registrationToken }: Registration,
  registrationUri: string,
): Readonly<Record<string, unknown>> => ({
  ...clientInformation(client, registrationToken, registrationUri),
  ...(clientSecret && { client_secret: clientSecret.reveal() }),
});

/** Returns the registration as the client may read it. `token` is the registration access token of the request. */
export const clientInformation = (
  { client_id, issuedAt, metadata, secretHash: hash }: Client,
  token: Secret,
  registrationUri: string,
): Readonly<Record<string, unknown>> => ({
  client_id,
  client_id_issued_at: Math.floor(issuedAt / 1000),
  ...metadata,
  ...(hash !== undefined && { client_secret_expires_at: 0 }),
  registration_access_token: token.reveal(),
  registration_client_uri: registrationUri,
});

type RegistrationAccess =
  | { readonly ok: true; readonly client: Client; readonly token: Secret }
  | {
      readonly ok: false;
      readonly status: 401;
      /** Value of `WWW-Authenticate`, without an error code when the request had no token. RFC 6750 §3.1 */
      readonly challenge: 'Bearer' | 'Bearer error="invalid_token"';
      /** Reason for the log. */
      readonly reason: 'no_token' | 'unknown_client' | 'wrong_token';
    };

/**
 * Verifies that the token in `authorization` may read and delete this client. A missing client, and a client with a metadata
 * document, get the same answer as a wrong token. Deleting also revokes the token families of the client.
 * @see RFC 7592 §2.1, §2.3
 */
export function authorizeRegistration(
  authorization: string | undefined,
  client: Client | undefined,
): RegistrationAccess {
  const token = /^Bearer +([\w\-.~+/]+=*)$/iu.exec(authorization ?? '')?.[1];
  if (token === undefined) return { ok: false, status: 401, challenge: 'Bearer', reason: 'no_token' };
  const matches = matchesSecretHash(token, client?.registrationTokenHash);
  if (client && matches) return { ok: true, client, token: new Secret(token) };
  const reason = client ? 'wrong_token' : 'unknown_client';
  return { ok: false, status: 401, challenge: 'Bearer error="invalid_token"', reason };
}

/** Returns the URL at which a client reads and deletes its registration. @see RFC 7592 §3 */
export const registrationUrl = (urls: ServerUrls, clientId: string): string =>
  `${endpointUrl('register', urls)}/${encodeURIComponent(clientId)}`;
