import type { Logger } from '../../contract/logger.ts';
import type { Outbound, OutboundOptions } from '../../outbound/fetch.ts';
import type { OutboundFlags } from '../../outbound/policy.ts';
import type { Authenticator } from '../../outgoing/authenticator.ts';
import type { Cached, WorkloadSecrets, RemoteAuthConfig } from './stored-record.ts';
import type { RemoteLoginState } from './login-phase.ts';
import type { After } from '../../kit/time.ts';
import type { ReadSecret } from './static-token.ts';

export type { RemoteLoginState } from './login-phase.ts';

/** Login at one remote MCP server. */
export interface RemoteLogin {
  /** Puts the credential on requests to the remote server. */
  readonly authenticator: Authenticator;
  state(): RemoteLoginState;
  /**
   * Starts a login, and ends an attempt that waits. Tokens that work stay in use until it succeeds. Returns the URL to
   * open. Rejects with `RemoteLoginError`.
   */
  logIn(): Promise<string>;
  /** Waits for a refresh that runs. */
  close(): Promise<void>;
}

export interface RemoteLoginOptions extends OutboundFlags {
  /** Name of the workload. */
  readonly name: string;
  readonly remoteUrl: string;
  readonly config: RemoteAuthConfig;
  /** Internal secrets of workloads: hold the tokens and the registered client. */
  readonly secrets: WorkloadSecrets;
  /** Reads secrets of the user, for `NAME,target=TARGET` references. */
  readonly readSecret: ReadSecret;
  /** Stores the `cached_*` members, all of them: absent ones are removed. They hold no secret. */
  readonly onCached: (cached: Cached) => Promise<void>;
  /** Called on every change of the state. */
  readonly onState: (state: RemoteLoginState) => void;
  /** Opens the URL of a login for the user. */
  readonly openBrowser?: ((url: string) => void) | undefined;
  /** URL of the client metadata document of vmcp; absent when there is none. */
  readonly clientMetadataUrl?: string | undefined;
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly schedule?: After | undefined;
  readonly log: Logger;
}
