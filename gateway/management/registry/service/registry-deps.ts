import type { Logger } from '../../../contract/logger.ts';
import type { Outbound, OutboundOptions } from '../../../outbound/fetch.ts';
import type { DiskCache } from '../cache/disk-cache.ts';
import type { LoginStore } from '../login/stored-login.ts';

/** Dependencies of the parts of a registry. */
export interface RegistryDeps {
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  readonly outbound: (options: OutboundOptions) => Outbound;
  readonly logins: LoginStore;
  readonly disk: DiskCache;
  /** Ports of the redirect URI of a login; 8666 to 8675 when absent. */
  readonly loginPorts?: readonly number[] | undefined;
}
