import { createHash, timingSafeEqual } from 'node:crypto';
import { Secret } from '../../contract/identity.ts';
import { MAX_CLIENT_ID_LENGTH } from '../core/authorization.ts';
import { ASSERTION_TYPE } from '../core/token-endpoint/client-assertion.ts';
import { readAssertion, type AssertionRefusal, type PresentedAssertion } from './client-assertion.ts';
import type { AuthMethod, Client } from '../storage/records.ts';

/** Client id and credentials in a request, not yet verified. */
interface PresentedClient {
  readonly clientId: string;
  readonly method: AuthMethod;
  readonly secret?: Secret;
  /** Present only with `private_key_jwt`. */
  readonly assertion?: PresentedAssertion;
}

/** Failed client authentication. The response contains `error` only; `reason` is for the log. */
export interface ClientRefused {
  readonly ok: false;
  readonly status: 400 | 401;
  readonly error: 'invalid_request' | 'invalid_client';
  /** The request used the Authorization header: the response needs `WWW-Authenticate: Basic`. RFC 6749 §5.2 */
  readonly challenge: boolean;
  readonly reason:
    | 'no_client_id'
    | 'two_methods'
    | 'two_clients'
    | 'malformed_header'
    | 'assertion_type'
    | 'assertion_malformed'
    | 'unknown_client'
    | 'method_not_registered'
    | 'wrong_secret'
    | AssertionRefusal;
}

export interface ClientCredentials {
  /** Authorization header as received. */
  readonly authorization: string | undefined;
  /** Parameters of the body, each given once. */
  readonly params: ReadonlyMap<string, string>;
}

type Presentation = { readonly ok: true; readonly presented: PresentedClient } | ClientRefused;

/** Reads the client id and the credentials of a request. @see RFC 6749 §2.3, RFC 7521 §4.2 */
export function presentedClient({ authorization, params }: ClientCredentials): Presentation {
  const header = authorization !== undefined;
  // RFC 6749 §3.2: a parameter without a value is treated as absent.
  const [clientId, secret] = [params.get('client_id') || undefined, params.get('client_secret') || undefined];
  const asserts = ['client_assertion', 'client_assertion_type'].some((name) => params.get(name));
  if ([header, secret !== undefined, asserts].filter(Boolean).length > 1) return clientRefused('two_methods', header);
  if (asserts) return presentedByAssertion(params, clientId);
  if (header) return presentedByHeader(authorization, clientId);
  if (clientId === undefined || clientId.length > MAX_CLIENT_ID_LENGTH) return clientRefused('no_client_id', false);
  if (secret === undefined) return { ok: true, presented: { clientId, method: 'none' } };
  return { ok: true, presented: { clientId, method: 'client_secret_post', secret: new Secret(secret) } };
}

/** Reads the client id from the assertion; a `client_id` parameter must be equal. @see RFC 7521 §4.2 */
function presentedByAssertion(params: ClientCredentials['params'], bodyClientId: string | undefined): Presentation {
  if (params.get('client_assertion_type') !== ASSERTION_TYPE) return clientRefused('assertion_type', false);
  const assertion = readAssertion(params.get('client_assertion') ?? '');
  const clientId = assertion?.claims['sub'];
  if (!assertion || typeof clientId !== 'string' || clientId === '' || clientId.length > MAX_CLIENT_ID_LENGTH)
    return clientRefused('assertion_malformed', false);
  if (bodyClientId !== undefined && bodyClientId !== clientId) return clientRefused('two_clients', false);
  return { ok: true, presented: { clientId, method: 'private_key_jwt', assertion } };
}

function presentedByHeader(authorization: string, bodyClientId: string | undefined): Presentation {
  const encoded = /^Basic +([a-z\d+/]+={0,2})$/iu.exec(authorization)?.[1];
  if (encoded === undefined) return clientRefused('malformed_header', true);
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const clientId = formDecoded(pair.slice(0, Math.max(colon, 0)));
  const secret = formDecoded(pair.slice(colon + 1));
  if (!clientId || secret === undefined || clientId.length > MAX_CLIENT_ID_LENGTH)
    return clientRefused('malformed_header', true);
  if (bodyClientId !== undefined && bodyClientId !== clientId) return clientRefused('two_clients', true);
  return { ok: true, presented: { clientId, method: 'client_secret_basic', secret: new Secret(secret) } };
}

/** Decodes the id or the secret, which the header carries form-encoded. RFC 6749 §2.3.1 */
function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/**
 * Compares the presented credentials with the registered client. An unknown client and a wrong secret give the same
 * response. Does not verify an assertion, only that the client may use one.
 */
export function authenticateClient(
  { method, secret }: PresentedClient,
  client: Client | undefined,
): { readonly ok: true; readonly client: Client } | ClientRefused {
  const header = method === 'client_secret_basic';
  const matches = secret !== undefined && matchesSecretHash(secret.reveal(), client?.secretHash);
  if (client === undefined) return clientRefused('unknown_client', header);
  if (!mayUse(method, client)) return clientRefused('method_not_registered', header);
  const proven = method === 'none' || method === 'private_key_jwt' || matches;
  return proven ? { ok: true, client } : clientRefused('wrong_secret', header);
}

/** A configured client may send its secret in either way, because it registers no method. */
const mayUse = (method: AuthMethod, { source, metadata }: Client): boolean =>
  source === 'configured'
    ? method === 'client_secret_basic' || method === 'client_secret_post'
    : metadata.token_endpoint_auth_method === method;

export function clientRefused(reason: ClientRefused['reason'], challenge: boolean): ClientRefused {
  if (reason === 'two_methods') return { ok: false, status: 400, error: 'invalid_request', challenge: false, reason };
  return { ok: false, status: 401, error: 'invalid_client', challenge, reason };
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Returns the SHA-256 in base64url, which is sufficient for secrets of 256 random bits. */
export const secretHash = (secret: string): string => digest(secret).toString('base64url');

/** Compares in constant time, also when there is no stored hash. */
export function matchesSecretHash(presented: string, stored: string | undefined): boolean {
  const expected = stored === undefined ? Buffer.alloc(32) : Buffer.from(stored, 'base64url');
  return expected.length === 32 && timingSafeEqual(digest(presented), expected) && stored !== undefined;
}
