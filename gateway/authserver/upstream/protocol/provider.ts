import type { ServerMetadata } from 'openid-client';
import type { Outbound } from '../../../outbound/fetch.ts';

/** What is known of the provider, and the guard to its endpoints. */
export interface Provider {
  readonly metadata: ServerMetadata;
  readonly outbound: Outbound;
}
