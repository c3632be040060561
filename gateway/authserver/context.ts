import type { ClientDirectory } from './clients/directory.ts';
import type { SecretRing } from './core/opaque-token.ts';
import type { EmitEvent } from './events.ts';
import type { AddressOf } from '../http/client-address.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { AuthServerSettings } from './settings.ts';
import type { Store } from './storage/store.ts';
import type { TrustedIssuers } from './trust/trusted-issuers.ts';
import type { Upstream } from './upstream/upstream.ts';
import type { Logger } from '../contract/logger.ts';

/** Dependencies of the endpoints: one object per configuration. Endpoints have no state of their own. */
export interface AuthServerContext {
  readonly settings: AuthServerSettings;
  readonly store: Store;
  readonly keys: SigningKeys;
  /** Returns the current HMAC secrets. */
  readonly secrets: () => SecretRing;
  readonly clients: ClientDirectory;
  readonly sessions: Sessions;
  readonly trust: TrustedIssuers;
  /** By name, in the configured order. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Returns this number of cryptographically random bytes. */
  readonly random: (bytes: number) => Buffer;
  readonly addressOf: AddressOf;
  readonly emit: EmitEvent;
  readonly log: Logger;
}
