import { Secret } from '../../contract/identity.ts';
import type { Client } from '../storage/records.ts';
import { matchesSecretHash } from './secret-hash.ts';

export type RegistrationAccess =
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
 * Verifies that the token in `authorization` may read and delete this client. A missing client, and one with a metadata
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
