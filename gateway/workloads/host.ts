import type { GatewayConfig } from '../contract/gateway-config.ts';
import type { Logger } from '../contract/logger.ts';
import type { Authenticator } from '../outgoing/authenticator.ts';
import type { Launcher, LaunchState, Restart } from './runner/runner.ts';

/** A configuration to serve, with what its backend needs. */
export interface ServeRequest {
  readonly config: GatewayConfig;
  readonly host: string;
  readonly port: number;
  /** Runs the processes of stdio servers. */
  readonly launcher: Launcher;
  /** State of the HTTP server that the store runs. */
  readonly launchState: () => LaunchState | undefined;
  /** Reads a secret by the path that stands in the configuration. */
  readonly readSecret: (path: string) => string;
  /** Credential for a remote server. */
  readonly authenticator?: Authenticator | undefined;
  readonly log: Logger;
}

/** State of the one backend. */
export interface ServedState {
  readonly status: 'healthy' | 'degraded' | 'unhealthy' | 'unknown' | 'unauthenticated' | 'installing' | 'starting';
  /** Sentence for users; absent for a healthy backend. */
  readonly reason?: string;
  /** True when no retry can help. */
  readonly isPermanent: boolean;
  /** Probes that failed since the last good one. */
  readonly failedProbes: number;
  /** True when its tools were read, or are read for each user. Until then clients get empty lists. */
  readonly isListed: boolean;
  /** Present after its process has ended, until it has run for some time again. */
  readonly restart?: Restart | undefined;
}

/** A workload that clients can reach. */
export interface ServedWorkload {
  readonly port: number;
  state(): ServedState;
  /** Applies another configuration on the same listener; sessions stay. */
  swap(config: GatewayConfig): Promise<void>;
  /** Probes the backend at once, and resolves when the probe has ended. */
  probe(): Promise<void>;
  /** Drains and closes. */
  stop(graceMs: number): Promise<void>;
}

/** Serves configurations on listeners of their own: the gateway. */
export interface WorkloadHost {
  /** Rejects with `ListenError` and `BoundaryImpossible`. */
  serve(request: ServeRequest): Promise<ServedWorkload>;
}
