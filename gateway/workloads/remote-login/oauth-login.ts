import type { ServerMetadata } from 'openid-client';
import { Guards } from '../../authserver/upstream/protocol/guards.ts';
import { completed, refreshScope } from '../../authserver/upstream/protocol/grants.ts';
import type { UpstreamGrant } from '../../authserver/upstream/upstream.ts';
import { UpstreamError } from '../../authserver/upstream/upstream-error.ts';
import { Secret } from '../../contract/identity.ts';
import { AccessTokens, type CompletedLogin } from './access-tokens.ts';
import {
  cachedIn,
  withClient,
  withLogin,
  type Cached,
  LoginRecord,
  secretNames,
  StoredRecord,
  type LoginFacts,
  given,
} from './stored-record.ts';
import { Clients, tokenClient } from './client/clients.ts';
import { Discovery, isSameIssuer, probe, type RemoteChallenge } from './discovery/discovery.ts';
import { startAttempt, type RemoteLoginAttempt } from './login-attempt.ts';
import { FIRST_PHASE, nextPhase, stateOf, type LoginEvent, type Phase, type RemoteLoginState } from './login-phase.ts';
import { asRemoteLoginError, reasonOf, RemoteLoginError } from './remote-login-error.ts';
import type { RemoteLogin, RemoteLoginOptions } from './remote-login.ts';
import { afterTimeout } from '../../kit/time.ts';
import { configuredSecret } from './static-token.ts';
import { ClientRecord } from '../../authserver/upstream/registration/register.ts';
import { SerialQueue } from '../../kit/tasks.ts';

const METADATA_MS = 3_600_000;
const CLIENT_ERRORS: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client']);

/** Returns true when the authorization server rejects the client, or when it sent no redirect: it then shows an error page. */
const mayBeUnknownClient = (error: unknown): boolean =>
  error instanceof UpstreamError ? CLIENT_ERRORS.has(error.providerError ?? '') : error instanceof RemoteLoginError;

/** Login by the code flow, with refreshes. */
export class OAuthLogin implements RemoteLogin {
  readonly authenticator: AccessTokens;
  readonly #options: RemoteLoginOptions;
  readonly #guards: Guards;
  readonly #discovery: Discovery;
  readonly #clients: Clients;
  readonly #record: StoredRecord<typeof LoginRecord>;
  #cached: Cached;
  #phase: Phase = FIRST_PHASE;
  #attempt: RemoteLoginAttempt | undefined;
  readonly #starts = new SerialQueue();
  #known: { readonly metadata: ServerMetadata; readonly at: number } | undefined;
  /** Refresh token that this object has read or written last. */
  #ownToken: string | undefined;
  #isClosed = false;

  constructor(options: RemoteLoginOptions) {
    const { name, config, secrets, readSecret, now, log, schedule = afterTimeout } = options;
    const names = secretNames(name);
    this.#options = options;
    this.#guards = new Guards(options, options);
    this.#discovery = new Discovery({ ...options, guards: this.#guards });
    this.#record = new StoredRecord(names.login, LoginRecord, { secrets, log });
    this.#cached = cachedIn(config);
    this.#clients = new Clients({
      ...{ config, now, log, clientMetadataUrl: options.clientMetadataUrl },
      record: new StoredRecord(names.client, ClientRecord, { secrets, log }),
      configuredSecret: () => configuredSecret(config, 'client_secret', readSecret),
      onRegistered: (client) => this.#cache(withClient(this.#cached, name, client)),
    });
    this.authenticator = new AccessTokens({
      ...{ now, schedule, phase: () => this.#phase },
      refresh: (login) => this.#refresh(login),
      store: (login) => this.#store(login),
      report: (event) => this.#report(event),
    });
  }

  /** Restores the stored login, or starts one if the remote server requires it. */
  async open(): Promise<void> {
    const stored = await this.#record.read(given(this.#options.config.cached_refresh_token_ref) !== undefined);
    if (stored && this.#isUsable(stored)) {
      this.#ownToken = stored.refresh_token;
      this.authenticator.restore(loginOf(stored));
      return;
    }
    const challenge = await probe(this.#options.remoteUrl, this.#discovery.remote);
    if (challenge) await this.#start(challenge);
    else this.#report({ kind: 'login_not_required' });
  }

  state(): RemoteLoginState {
    return stateOf(this.#phase);
  }

  async logIn(): Promise<string> {
    try {
      return await this.#starts.run(() => this.#startByHand());
    } catch (error) {
      throw asRemoteLoginError(error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#attempt?.close();
    await this.authenticator.close();
    await this.#guards.close();
  }

  /** The challenge may name the authorization server, but a login is possible without one. */
  async #startByHand(): Promise<string> {
    const challenge = await probe(this.#options.remoteUrl, this.#discovery.remote).catch(() => undefined);
    return this.#start(challenge);
  }

  async #start(challenge: RemoteChallenge | undefined): Promise<string> {
    this.#attempt?.close();
    const { config, now, name, log, remoteUrl, openBrowser } = this.#options;
    const { outbound } = this.#discovery;
    const discovered = await this.#discovery.find(challenge);
    const { metadata, resource, scopes } = discovered;
    const client = await this.#clients.forLogin({ metadata, outbound, scopes });
    const attempt = await startAttempt({ config, discovered, client, outbound, now });
    if (this.#isClosed) {
      attempt.close();
      throw new RemoteLoginError('the workload is stopped');
    }
    this.#attempt = attempt;
    this.#known = { metadata, at: now() };
    this.#report({ kind: 'login_started', url: attempt.url });
    void this.#finish(attempt, {
      ...{ remote_url: remoteUrl, issuer: metadata.issuer, client_id: client.clientId, scopes: [...scopes] },
      ...(resource !== undefined && { resource }),
    });
    log.info('log in at the remote server', { workload: name, url: attempt.url });
    if (config.skip_browser !== true) openBrowser?.(attempt.url);
    return attempt.url;
  }

  /** Waits for the user. Never rejects. */
  async #finish(attempt: RemoteLoginAttempt, facts: LoginFacts): Promise<void> {
    const { name, log } = this.#options;
    const isReplaced = (): boolean => this.#attempt !== attempt;
    try {
      const grant = await attempt.grant;
      if (!grant || isReplaced()) return;
      await this.authenticator.replace({ grant, facts });
      log.info('the login at the remote server succeeded', { workload: name });
    } catch (error) {
      if (isReplaced() || this.#isClosed) return;
      if (mayBeUnknownClient(error)) this.#clients.distrust();
      const reason = reasonOf(error);
      log.warn('the login at the remote server failed', { workload: name, cause: reason });
      this.#report({ kind: 'login_failed', reason });
    } finally {
      if (!isReplaced()) this.#attempt = undefined;
    }
  }

  async #refresh(login: CompletedLogin): Promise<UpstreamGrant> {
    const { now } = this.#options;
    const { grant, facts } = await this.#latest(login);
    if (grant !== login.grant && (grant.expiresAt ?? Infinity) > now()) return grant;
    const { scopes, resource } = facts;
    const server = { metadata: await this.#metadata(facts.issuer), outbound: this.#discovery.outbound };
    try {
      const identity = await this.#clients.forRefresh(facts.client_id, { ...server, scopes });
      const { client, provider } = tokenClient(identity, server, { redirectUri: '', resource, now });
      const token = grant.refreshToken?.reveal() ?? '';
      return completed((await client.refresh(provider, token, refreshScope({ scopes }, grant))).grant, grant);
    } catch (error) {
      if (mayBeUnknownClient(error)) this.#clients.distrust();
      throw error;
    }
  }

  /**
   * Returns the login as another object has stored it, such as the successor of an edited workload: the own refresh token
   * is then used up.
   */
  async #latest(login: CompletedLogin): Promise<CompletedLogin> {
    const stored = await this.#record.read(false);
    const isForeign = stored !== undefined && stored.refresh_token !== this.#ownToken && this.#isUsable(stored);
    return isForeign && stored.client_id === login.facts.client_id ? loginOf(stored) : login;
  }

  /** Returns the metadata of the issuer, at most an hour old while the issuer answers. */
  async #metadata(issuer: string): Promise<ServerMetadata> {
    const now = this.#options.now();
    const known = this.#known?.metadata.issuer === issuer ? this.#known : undefined;
    if (known && now - known.at < METADATA_MS) return known.metadata;
    try {
      const metadata = await this.#discovery.at(issuer);
      this.#known = { metadata, at: now };
      return metadata;
    } catch (error) {
      if (known) return known.metadata;
      throw error;
    }
  }

  /** Writes the tokens first, then their name. */
  async #store({ grant, facts }: CompletedLogin): Promise<boolean> {
    const isStored = await this.#record.write(recordOf(grant, facts));
    if (isStored) this.#ownToken = grant.refreshToken?.reveal();
    if (isStored) await this.#cache(withLogin(this.#cached, this.#options.name, grant.expiresAt));
    return isStored;
  }

  async #cache(cached: Cached): Promise<void> {
    this.#cached = cached;
    try {
      await this.#options.onCached(cached);
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unexpected error';
      this.#options.log.warn('the names of the stored login are not saved', { workload: this.#options.name, cause });
    }
  }

  /** Returns true when the login belongs to the current settings: its tokens go nowhere else. */
  #isUsable(stored: LoginFacts): boolean {
    const { remoteUrl, config } = this.#options;
    const [clientId, resource] = [given(config.client_id), config.resource];
    const issuer = this.#discovery.configuredIssuer;
    return (
      stored.remote_url === remoteUrl &&
      (issuer === undefined || isSameIssuer(issuer, stored.issuer)) &&
      (clientId === undefined || clientId === stored.client_id) &&
      (resource === undefined || (given(resource) ?? '') === (stored.resource ?? '')) &&
      (config.scopes === undefined || config.scopes.every((scope) => stored.scopes.includes(scope)))
    );
  }

  #report(event: LoginEvent): void {
    const before = JSON.stringify(this.state());
    this.#phase = nextPhase(this.#phase, event);
    const { log, name, onState } = this.#options;
    if (this.#isClosed || JSON.stringify(this.state()) === before) return;
    const state = this.state();
    if (state.kind === 'auth_retrying' || event.kind === 'rejected')
      log.warn('the login at the remote server does not work', { workload: name, ...state });
    onState(state);
  }
}

const recordOf = (grant: UpstreamGrant, facts: LoginFacts): LoginRecord => ({
  ...facts,
  access_token: grant.accessToken.reveal(),
  ...(grant.refreshToken && { refresh_token: grant.refreshToken.reveal() }),
  ...(grant.scope !== undefined && { granted: grant.scope }),
  ...(grant.expiresAt !== undefined && { expires_at: grant.expiresAt }),
});

const loginOf = ({ access_token, refresh_token, granted, expires_at, ...facts }: LoginRecord): CompletedLogin => ({
  facts,
  grant: {
    accessToken: new Secret(access_token),
    ...(refresh_token !== undefined && { refreshToken: new Secret(refresh_token) }),
    ...{ scope: granted, expiresAt: expires_at },
  },
});
