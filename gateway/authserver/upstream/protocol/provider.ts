import type { ServerMetadata } from 'openid-client';
import type { Outbound } from '../../../outbound/fetch.ts';

/** Metadata of a provider, and the guard for its endpoints. */
export interface Provider {
  readonly metadata: ServerMetadata;
  readonly outbound: Outbound;
}
