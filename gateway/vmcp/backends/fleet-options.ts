import type { Backend, Operational, OutgoingEntry } from '../../contract/gateway-config.ts';
import type { Authenticator } from '../../outgoing/authenticator.ts';
import type { CallObserver } from '../../telemetry/call-observer.ts';
import type { BackendMessage } from '../relay.ts';
import type { Transport } from '../transport/channel.ts';
import type { BackendRuntimeOptions } from './backend.ts';
import type { LaunchState } from '../../workloads/runner/runner.ts';
import type { Logger } from '../../contract/logger.ts';

export interface FleetOptions {
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
  readonly metrics: CallObserver;
  readonly createTransport: (backend: Backend, operational: Operational) => Transport;
  /** Creates the authenticator of a backend; undefined: the backend gets no credential. */
  readonly createAuthenticator: (backend: Backend, auth: OutgoingEntry | undefined) => Authenticator | undefined;
  /** Returns the state of a backend's process, where the gateway does not start it itself. */
  readonly launchState?: ((backend: string) => LaunchState | undefined) | undefined;
  readonly backendSessions: BackendRuntimeOptions['backendSessions'];
  /** Called for a message of a backend to one client. */
  readonly onMessage: (message: BackendMessage) => void;
  /** Called when the catalogs, or the set of available backends, have changed, and when every backend was probed once. */
  readonly onChange: () => void;
  /** Called when a backend with per-user credentials announces a changed list: for one principal, or for all. */
  readonly onPersonalListChanged: (backend: string, principal: string | undefined) => void;
}

/** One backend in the configuration. */
export interface ConfiguredBackend {
  readonly config: Backend;
  readonly auth: OutgoingEntry | undefined;
}
