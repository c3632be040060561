import type { RemoteAuthConfig } from './settings.ts';
import type { ClientRecord } from '../../authserver/upstream/registration/register.ts';
import { secretNames } from './stored-record.ts';

type Member =
  | 'cached_client_id'
  | 'cached_client_secret_ref'
  | 'cached_refresh_token_ref'
  | 'cached_reg_token_ref'
  | 'cached_secret_expiry'
  | 'cached_token_expiry';

/** `cached_*` members of `remote_auth_config`: identifiers, names of secrets and times. */
export type Cached = Pick<RemoteAuthConfig, Member>;

const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Returns the members with those of a registered client replaced. */
export function withClient(cached: Cached, workload: string, client: ClientRecord): Cached {
  const {
    cached_client_id: _,
    cached_client_secret_ref,
    cached_reg_token_ref,
    cached_secret_expiry,
    ...login
  } = cached;
  const { client: name } = secretNames(workload);
  return {
    ...login,
    cached_client_id: client.client_id,
    ...(client.client_secret !== undefined && { cached_client_secret_ref: name }),
    ...(client.registration_token !== undefined && { cached_reg_token_ref: name }),
    ...(client.secret_expires_at !== undefined && { cached_secret_expiry: timeOf(client.secret_expires_at) }),
  };
}

/** Returns the members with those of a login replaced. */
export function withLogin(cached: Cached, workload: string, expiresAt: number | undefined): Cached {
  const { cached_refresh_token_ref: _, cached_token_expiry, ...client } = cached;
  return {
    ...client,
    cached_refresh_token_ref: secretNames(workload).login,
    ...(expiresAt !== undefined && { cached_token_expiry: timeOf(expiresAt) }),
  };
}

/** Returns the `cached_*` members of a configuration. */
export const cachedIn = ({
  cached_client_id: id,
  cached_client_secret_ref: secret,
  cached_refresh_token_ref: refresh,
  cached_reg_token_ref: registration,
  cached_secret_expiry: secretExpiry,
  cached_token_expiry: tokenExpiry,
}: RemoteAuthConfig): Cached => ({
  ...(id !== undefined && { cached_client_id: id }),
  ...(secret !== undefined && { cached_client_secret_ref: secret }),
  ...(refresh !== undefined && { cached_refresh_token_ref: refresh }),
  ...(registration !== undefined && { cached_reg_token_ref: registration }),
  ...(secretExpiry !== undefined && { cached_secret_expiry: secretExpiry }),
  ...(tokenExpiry !== undefined && { cached_token_expiry: tokenExpiry }),
});
