import { Secret } from '../../contract/identity.ts';
import type { Client } from '../storage/client.ts';
import { matchesSecretHash } from './secret-hash.ts';

export type RegistrationAccess =
  | { readonly ok: true; readonly client: Client; readonly token: Secret }
  | {
      readonly ok: false;
      readonly status: 401;
      /** For `WWW-Authenticate`. RFC 6750 §3.1: no error code where no token came. */
      readonly challenge: 'Bearer' | 'Bearer error="invalid_token"';
      /** For the log. */
      readonly reason: 'no_token' | 'unknown_client' | 'wrong_token';
    };

/**
 * May the bearer of `authorization` read and delete this client? A client that does not exist or is a document gets
 * the same answer as a wrong token. Deleting revokes the families of the client besides.
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
