import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Identity } from '../../../contract/identity.ts';
import type { Logger } from '../../../contract/logger.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { createOutbound } from '../../../outbound/fetch.ts';
import { CredentialError, type Authenticator, type CredentialHeaders } from '../../../outgoing/authenticator.ts';
import type { LoginState } from '../../definition/status.ts';
import type { Cached } from '../../remote-login/stored-record.ts';
import { openRemoteLogin } from '../../remote-login/open-remote-login.ts';
import { RemoteLoginError } from '../../remote-login/remote-login-error.ts';
import type { RemoteLogin } from '../../remote-login/remote-login.ts';
import type { SecretValues } from './secret-values.ts';
import { nextPauseMs } from '../../../kit/time.ts';

export interface WorkloadLoginDeps {
  readonly secrets: SecretValues;
  readonly allowPrivateIps: boolean;
  /** Stores the members that the login caches. They hold no secret. */
  readonly onCached: (cached: Cached) => Promise<void>;
  /** Called on every change of the state. */
  readonly onState: () => void;
  /** Opens a login URL for the user, once per login attempt. */
  readonly openBrowser?: ((url: string) => void) | undefined;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Logger;
}

/** Pauses between two tries to start a login while the server or its issuer is down. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

/** Login of a workload at its remote server. It starts in the background, so that the listener is there at once. */
export class WorkloadLogin {
  readonly config: RunConfig;
  readonly authenticator: Authenticator;
  readonly #deps: WorkloadLoginDeps;
  readonly #ended = new AbortController();
  readonly #opened: Promise<void>;
  readonly #tried = Promise.withResolvers<undefined>();
  #login: RemoteLogin | undefined;
  #fault: string | undefined;
  /** True while the fault is temporary. */
  #isRetrying = false;

  constructor(config: RunConfig, deps: WorkloadLoginDeps) {
    this.config = config;
    this.#deps = deps;
    this.#opened = this.#open();
    this.authenticator = {
      perUser: false,
      headers: (caller) => this.#login?.authenticator.headers(caller) ?? this.#headersOfFirstTry(caller),
      refused: (caller, sent) => this.#login?.authenticator.refused(caller, sent) ?? false,
    };
  }

  /** Undefined until the server was asked for the first time. */
  state(): LoginState | undefined {
    if (this.#login) return this.#login.state();
    if (this.#fault === undefined) return undefined;
    return { kind: this.#isRetrying ? 'unreachable' : 'unauthenticated', reason: this.#fault };
  }

  /** Waits for the first try: requests that arrive right after a start do not fail. */
  async #headersOfFirstTry(caller: Identity | undefined): Promise<CredentialHeaders> {
    await this.#tried.promise;
    if (this.#login) return this.#login.authenticator.headers(caller);
    throw new CredentialError('unavailable', this.#fault ?? 'the login at the server has not started');
  }

  /** Resolves when the first try to start the login has ended, with or without success. */
  get tried(): Promise<undefined> {
    return this.#tried.promise;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#opened;
    await this.#login?.close();
  }

  async #open(): Promise<void> {
    const { signal } = this.#ended;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = nextPauseMs(pauseMs, LONGEST_PAUSE_MS)) {
      try {
        this.#login = await this.#start();
        this.#fault = undefined;
        this.#tried.resolve(undefined);
        this.#deps.onState();
        return;
      } catch (error) {
        this.#fault = error instanceof RemoteLoginError ? error.message : 'the login failed unexpectedly';
        this.#deps.log.warn('login at remote server not started', { workload: this.config.name, error: this.#fault });
        this.#isRetrying = error instanceof RemoteLoginError && error.isTemporary;
        this.#tried.resolve(undefined);
        if (!this.#isRetrying) return;
        await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  #start(): Promise<RemoteLogin> {
    const { secrets, allowPrivateIps, onCached, onState, openBrowser, now, log } = this.#deps;
    const { name = '', remote_url: remoteUrl = '', remote_auth_config: config = {} } = this.config;
    return openRemoteLogin({
      ...{ name, remoteUrl, config, onCached, onState, now, log, outbound: createOutbound },
      secrets: secrets.kept,
      readSecret: (secret) => secrets.get(name, secret),
      allowPrivateIPs: allowPrivateIps,
      ...(openBrowser && config.skip_browser !== true && { openBrowser }),
    });
  }
}

/** Returns true for a remote server that gets the credential of vmcp, and not one of each user. */
export const hasLogin = (config: RunConfig): boolean =>
  Boolean(config.remote_url) &&
  config.token_exchange_config === undefined &&
  config.upstream_swap_config === undefined &&
  config.cloud_sts_config === undefined &&
  config.embedded_auth_server_config === undefined;

/** Returns a run configuration without what a login has cached in it. */
export function withoutCached(config: RunConfig): RunConfig {
  const { remote_auth_config: login, ...others } = config;
  if (login === undefined) return config;
  const entries = Object.entries(login).filter(([member]) => !member.startsWith('cached_'));
  return entries.length === 0 ? others : { ...others, remote_auth_config: Object.fromEntries(entries) };
}

/** Returns true when both configurations log in at the same server in the same way. */
export const isSameLogin = (one: RunConfig, other: RunConfig): boolean =>
  one.remote_url === other.remote_url &&
  isDeepStrictEqual(withoutCached(one).remote_auth_config, withoutCached(other).remote_auth_config);

/** Returns true when two run configurations serve the same. */
export const isSameConfig = (one: RunConfig, other: RunConfig): boolean =>
  isDeepStrictEqual(withoutCached(one), withoutCached(other));
