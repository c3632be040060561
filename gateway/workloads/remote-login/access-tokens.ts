import type { UpstreamGrant } from '../../authserver/upstream/upstream.ts';
import { UpstreamError } from '../../authserver/upstream/upstream-error.ts';
import { CredentialError, type Authenticator, type CredentialHeaders } from '../../outgoing/authenticator.ts';
import { pauseMs, type LoginEvent, type Phase } from './login-phase.ts';
import { reasonOf, RemoteLoginError } from './remote-login-error.ts';
import type { After } from '../../kit/time.ts';
import type { LoginFacts } from './stored-record.ts';
import { SerialQueue, SingleFlight } from '../../kit/tasks.ts';

/** Tokens, and the client and server that they belong to. */
export interface CompletedLogin {
  readonly grant: UpstreamGrant;
  readonly facts: LoginFacts;
}

export interface AccessTokensOptions {
  /** Requests new tokens. The result has the tokens that the reply omits. Rejects with `UpstreamError` and `RemoteLoginError`. */
  readonly refresh: (login: CompletedLogin) => Promise<UpstreamGrant>;
  /** Stores tokens before they are used. Returns false when they are in memory only. */
  readonly store: (login: CompletedLogin) => Promise<boolean>;
  readonly phase: () => Phase;
  readonly report: (event: LoginEvent) => void;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly schedule: After;
}

interface Held extends CompletedLogin {
  readonly headers: CredentialHeaders;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** Time at which the token is refreshed, ms since the epoch; undefined when it does not expire. */
  readonly refreshAt: number | undefined;
  /** True when the remote server rejected the token before this one. */
  readonly followsRejection: boolean;
}

/** A token is refreshed this long before it expires, or a tenth of its lifetime. */
const EARLY_MS = 60_000;
const EARLY_SHARE = 0.1;
/** A new token that the remote server rejects within this time shows that refreshes do not help. */
const REJECTED_AGAIN_MS = 60_000;
const STORE_AGAIN_MS = 30_000;

/** Access token of one login: kept fresh in the background, and put on requests. */
export class AccessTokens implements Authenticator {
  readonly perUser = false;
  readonly #options: AccessTokensOptions;
  #held: Held | undefined;
  /** True when the remote server has rejected the held token. */
  #isRejected = false;
  readonly #refreshing = new SingleFlight();
  /** The last write, so that writes do not overtake each other. */
  readonly #storing = new SerialQueue();
  /** Number of logins: the refresh of an earlier one must not replace the tokens of a later one. */
  #logins = 0;
  #cancel: () => void = () => undefined;
  #cancelStore: () => void = () => undefined;
  #isClosed = false;

  constructor(options: AccessTokensOptions) {
    this.#options = options;
  }

  /** Uses the tokens of a stored login. */
  restore(login: CompletedLogin): void {
    this.#hold(login);
    this.#options.report({ kind: 'token_received', by: 'login' });
  }

  /** Stores and uses the tokens of a new login. */
  async replace(login: CompletedLogin): Promise<void> {
    this.#logins += 1;
    await this.#store(login);
    this.#isRejected = false;
    this.#hold(login);
    this.#options.report({ kind: 'token_received', by: 'login' });
  }

  headers(): CredentialHeaders | Promise<CredentialHeaders> {
    const { kind } = this.#options.phase().credential;
    if (kind === 'not_required') return {};
    const held = this.#held;
    if (!held || kind === 'none' || kind === 'ended') throw this.#loginNeeded();
    if (!this.#isUsable(held)) return this.#renewed();
    if (held.refreshAt !== undefined && held.refreshAt <= this.#options.now() && kind === 'valid') void this.refresh();
    return held.headers;
  }

  refused(_caller: unknown, sent: CredentialHeaders): boolean {
    const held = this.#held;
    if (!held) {
      this.#options.report({ kind: 'rejected', reason: 'the remote server now requires a login' });
      return false;
    }
    if (sent['authorization'] !== held.headers['authorization']) return true;
    const isNew = this.#options.now() - held.receivedAt < REJECTED_AGAIN_MS;
    if (held.grant.refreshToken === undefined || (held.followsRejection && isNew)) {
      this.#options.report({ kind: 'rejected', reason: 'the remote server rejects the access token: log in again' });
      return false;
    }
    this.#isRejected = true;
    return true;
  }

  /** Refreshes the token, once for concurrent callers. Never rejects: reports the outcome. */
  refresh(): Promise<void> {
    return this.#refreshing.run(() => this.#refresh());
  }

  /** Waits for a refresh that runs: its refresh token may be used up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    this.#cancelStore();
    await this.#refreshing.running;
    await this.#storing.ended();
  }

  async #renewed(): Promise<CredentialHeaders> {
    if (this.#isWaiting()) throw this.#unavailable();
    await this.refresh();
    const held = this.#held;
    if (held && this.#isUsable(held)) return held.headers;
    throw this.#options.phase().credential.kind === 'failing' ? this.#unavailable() : this.#loginNeeded();
  }

  async #refresh(): Promise<void> {
    const before = this.#held;
    if (!before || this.#isClosed) return;
    const { report, now, refresh } = this.#options;
    if (before.grant.refreshToken === undefined) {
      if (this.#isUsable(before)) this.#scheduleRefresh();
      else report({ kind: 'rejected', reason: 'the access token has expired, and there is no refresh token: log in again' }); // oxfmt-ignore
      return;
    }
    const logins = this.#logins;
    const isReplaced = (): boolean => this.#logins !== logins;
    const result = await refresh(before).catch((error: unknown) => ({ error }));
    if (isReplaced()) return;
    if (!('error' in result)) {
      const login = { grant: result, facts: before.facts };
      await this.#store(login);
      if (isReplaced()) return;
      this.#hold(login);
      report({ kind: 'token_received', by: 'refresh' });
    } else if (isPermanent(result.error)) {
      this.#cancel();
      report({ kind: 'rejected', reason: `log in again: ${reasonOf(result.error)}` });
    } else {
      report({ kind: 'refresh_failed', at: now(), reason: reasonOf(result.error) });
      this.#scheduleRetry();
    }
  }

  #hold(login: CompletedLogin): void {
    const { accessToken, expiresAt } = login.grant;
    const receivedAt = this.#options.now();
    const early = expiresAt === undefined ? 0 : Math.min(EARLY_MS, (expiresAt - receivedAt) * EARLY_SHARE);
    this.#held = {
      ...{ ...login, receivedAt, followsRejection: this.#isRejected },
      headers: { authorization: `Bearer ${accessToken.reveal()}` },
      refreshAt: expiresAt === undefined ? undefined : expiresAt - early,
    };
    this.#isRejected = false;
    this.#scheduleRefresh();
  }

  #scheduleRefresh(): void {
    const { grant, refreshAt } = this.#held ?? {};
    const at = grant?.refreshToken === undefined ? grant?.expiresAt : refreshAt;
    if (at !== undefined) this.#later(at - this.#options.now());
    else this.#cancel();
  }

  #scheduleRetry(): void {
    const { credential } = this.#options.phase();
    if (credential.kind === 'failing') this.#later(pauseMs(credential));
    else this.#cancel();
  }

  #later(ms: number): void {
    this.#cancel();
    if (this.#isClosed) return;
    this.#cancel = this.#options.schedule(ms, () => void this.refresh());
  }

  /** Stores tokens, again after a pause if that fails. */
  #store(login: CompletedLogin): Promise<void> {
    this.#cancelStore();
    return this.#storing.run(async () => {
      if ((await this.#options.store(login)) || this.#isClosed) return;
      this.#cancelStore = this.#options.schedule(STORE_AGAIN_MS, () => void this.#store(login));
    });
  }

  /** Returns true between two retries: a call does not add requests to a token endpoint in trouble. */
  #isWaiting(): boolean {
    const { credential } = this.#options.phase();
    if (credential.kind !== 'failing' || this.#refreshing.running !== undefined) return false;
    return this.#options.now() < credential.at + pauseMs(credential);
  }

  #isUsable({ grant: { expiresAt } }: Held): boolean {
    return !this.#isRejected && (expiresAt === undefined || this.#options.now() < expiresAt);
  }

  #loginNeeded(): CredentialError {
    const { credential } = this.#options.phase();
    const reason = 'reason' in credential ? credential.reason : 'there is no login';
    return new CredentialError('misconfigured', `no login at the remote server: ${reason}`);
  }

  #unavailable(): CredentialError {
    const { credential } = this.#options.phase();
    const reason = 'reason' in credential ? credential.reason : 'the refresh failed';
    return new CredentialError('unavailable', `the login at the remote server cannot be refreshed now: ${reason}`);
  }
}

/** Returns true when the token endpoint answered with an error of RFC 6749 §5.2, or with its status alone, or the client is lost. */
const isPermanent = (error: unknown): boolean => {
  if (!(error instanceof UpstreamError)) return error instanceof RemoteLoginError && !error.isTemporary;
  const { fault, status, providerError } = error;
  if (providerError === undefined) return fault !== 'unavailable' && (status === 400 || status === 401);
  return fault === 'rejected' || fault === 'misconfigured';
};
