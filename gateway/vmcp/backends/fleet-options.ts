import type { Backend, Operational, OutgoingEntry } from '../../contract/gateway-config.ts';
import type { Authenticator } from '../../outgoing/authenticator.ts';
import type { CallObserver } from '../../telemetry/call-observer.ts';
import type { BackendMessage } from '../relay.ts';
import type { Transport } from '../transport/channel.ts';
import type { Logger } from '../../contract/logger.ts';

export interface FleetOptions {
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
  readonly metrics: CallObserver;
  readonly createTransport: (backend: Backend, operational: Operational) => Transport;
  /** How the credential for a backend is obtained; undefined: it gets none. */
  readonly createAuthenticator: (backend: Backend, auth: OutgoingEntry | undefined) => Authenticator | undefined;
  /** A message of a backend for one client. */
  readonly onMessage: (message: BackendMessage) => void;
  /** What the backends offer, or which of them are available, has changed. */
  readonly onChange: () => void;
  /** A backend that is called with callers' own credentials says that a list changed, for one principal or for all. */
  readonly onPersonalListChanged: (backend: string, principal: string | undefined) => void;
}

/** One backend as the configuration describes it. */
export interface ConfiguredBackend {
  readonly config: Backend;
  readonly auth: OutgoingEntry | undefined;
}
