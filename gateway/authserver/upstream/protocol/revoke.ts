import { setTimeout as sleep } from 'node:timers/promises';
import type { CodeClient } from './code-client.ts';
import type { Provider } from './provider.ts';
import type { UpstreamDeps, UpstreamGrant } from '../upstream.ts';

const LIMIT_MS = 5_000;

interface RevokingClient {
  readonly client: CodeClient;
  readonly provider: Provider;
}

/** The part of the access to a provider that a revocation needs. */
interface RevokingAccess {
  use<T>(operation: (access: RevokingClient) => Promise<T>): Promise<T>;
}

/** Revokes the refresh token, which should also end the access token (RFC 7009 §2.1), and then the access token. */
export async function revokeGrant(
  grant: UpstreamGrant,
  access: RevokingAccess,
  { log, name }: Pick<UpstreamDeps, 'log' | 'name'>,
): Promise<boolean> {
  const late = new AbortController();
  const failed = (error: unknown): false => {
    const cause = error instanceof Error ? error.message : 'unexpected';
    log.warn('upstream tokens cannot be revoked', { provider: name, cause });
    return false;
  };
  const revoked = access.use((opened) => revokeBoth(grant, opened)).catch(failed);
  const limit = sleep(LIMIT_MS, false, { ref: false, signal: late.signal }).catch(() => false);
  try {
    return await Promise.race([revoked, limit]);
  } finally {
    late.abort();
  }
}

async function revokeBoth(
  { refreshToken, accessToken }: UpstreamGrant,
  { client, provider: to }: RevokingClient,
): Promise<boolean> {
  if (to.metadata.revocation_endpoint === undefined) return false;
  if (refreshToken) await client.revoke(to, refreshToken.reveal(), 'refresh_token');
  await client.revoke(to, accessToken.reveal(), 'access_token');
  return true;
}
