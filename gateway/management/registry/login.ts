import { randomBytes } from 'node:crypto';
import { oidc } from '../../authserver/upstream/oidc.ts';
import type { LegSecrets, Upstream } from '../../authserver/upstream/upstream.ts';
import type { Logger } from '../../contract/logger.ts';
import { openRedirectListener, type RedirectListener } from '../../http/redirect-listener.ts';
import type { Outbound, OutboundOptions } from '../../outbound/fetch.ts';
import { RegistryFault } from './fault.ts';
import type { GrantedLogin, LoginStore } from './login-store.ts';
import type { RegistryAuth } from './schema/registry.ts';
import { registryPolicy, urlFault } from './sources/request.ts';
import { SingleFlight } from '../../kit/tasks.ts';

/** Ports of the redirect URI. A provider that compares ports must know the redirect URI of each port that may be used. */
const PORTS = Array.from({ length: 10 }, (_, index) => 8666 + index);
const LOGIN_MS = 300_000;
const TIMEOUT_MS = 5_000;
/** An access token is refreshed this long before it expires. */
const EARLY_MS = 60_000;

interface RegistryLoginOptions {
  readonly auth: RegistryAuth;
  readonly allowPrivateIp: boolean;
  readonly store: LoginStore;
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  /** Ports of the redirect URI; 8666 to 8675 when absent. */
  readonly ports?: readonly number[] | undefined;
}

/** Login attempt that waits for the user. */
export interface PendingLogin {
  readonly authorizationUrl: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** Login of vmcp at one registry, as a public client with PKCE. At most one login attempt runs. */
export class RegistryLogin {
  readonly #options: RegistryLoginOptions;
  readonly #upstream: Upstream;
  #login: GrantedLogin | undefined;
  #loaded: Promise<void> | undefined;
  #attempt: RedirectListener | undefined;
  readonly #refreshing = new SingleFlight();
  #writing: Promise<void> | undefined;
  /** Number of calls of `end`. Tokens that were requested before the last one are not kept. */
  #ends = 0;

  constructor(options: RegistryLoginOptions) {
    const { auth, allowPrivateIp, outbound, now, log } = options;
    const refused = urlFault(auth.issuer, registryPolicy(allowPrivateIp));
    if (refused) throw new RegistryFault('setting', `auth.issuer: ${refused.message}`, refused);
    this.#options = options;
    this.#upstream = oidc.create(
      {
        issuer_url: auth.issuer,
        client_id: auth.client_id,
        ...(auth.scopes && { scopes: [...new Set(['openid', ...auth.scopes])] }),
        ...(auth.audience !== undefined && { additional_authorization_params: { audience: auth.audience } }),
        ...{ allow_private_ips: allowPrivateIp, insecure_allow_http: allowPrivateIp },
      },
      {
        ...{ name: 'registry', redirectUri: redirectUri(PORTS[0] ?? 0), timeoutMs: TIMEOUT_MS, now, log, outbound },
        readSecret: () => '',
      },
    );
  }

  /** Fetches the metadata of the provider. Throws `RegistryFault`. */
  async check(): Promise<void> {
    try {
      await this.#upstream.redirectUri();
    } catch (error) {
      throw new RegistryFault(
        'setting',
        'auth.issuer: its OpenID configuration cannot be used: check the issuer',
        error,
      );
    }
  }

  async isLoggedIn(): Promise<boolean> {
    const login = await this.#current();
    return login !== undefined && (login.grant.refreshToken !== undefined || !this.#isExpired(login));
  }

  /** Starts a login and ends an earlier attempt. Rejects when the provider or every port cannot be used. */
  async start(): Promise<PendingLogin> {
    this.#attempt?.close();
    const listener = await openRedirectListener(this.#options.ports ?? PORTS, 'Close this page.');
    listener.unref();
    this.#attempt = listener;
    const secrets = {
      ...{ state: random(), codeVerifier: random(), nonce: random() },
      redirectUri: listener.redirectUri,
    };
    try {
      const authorizationUrl = await this.#upstream.authorizationUrl(secrets);
      void this.#finish(listener, secrets);
      return { authorizationUrl, expiresAt: this.#options.now() + LOGIN_MS };
    } catch (error) {
      listener.close();
      throw error;
    }
  }

  /** Ends the login, and revokes its tokens if the provider allows that. Rejects if the stored login cannot be deleted. */
  async end(): Promise<void> {
    this.#ends += 1;
    this.#attempt?.close();
    await this.#writing;
    const login = await this.#current();
    await this.#options.store.delete();
    this.#login = undefined;
    if (login) void this.#upstream.revoke(login.grant);
  }

  /** Returns the value of the Authorization header. Throws `RegistryFault` without a login. */
  async authorization(): Promise<string> {
    const login = await this.#current();
    if (login && this.#isExpired(login)) {
      await this.#refreshing.run(() => this.#refresh(login));
    }
    if (this.#login) return `Bearer ${this.#login.grant.accessToken.reveal()}`;
    throw loginRequired();
  }

  async close(): Promise<void> {
    this.#attempt?.close();
    await this.#upstream.close();
  }

  async #current(): Promise<GrantedLogin | undefined> {
    this.#loaded ??= this.#options.store.read(this.#options.auth).then((login) => {
      this.#login ??= login;
    });
    await this.#loaded;
    return this.#login;
  }

  /** Waits for the redirect and exchanges its code. Never rejects. */
  async #finish(listener: RedirectListener, secrets: LegSecrets): Promise<void> {
    const ends = this.#ends;
    try {
      const answer = await listener.receive(secrets.state, LOGIN_MS);
      if (!answer) return; // too late, or replaced by another attempt
      const parameter = (name: string): string | undefined => answer.get(name) ?? undefined;
      const callback = { code: parameter('code'), iss: parameter('iss'), error: parameter('error') };
      const { grant, identity } = await this.#upstream.login(callback, secrets);
      await this.#keep({ grant, subject: identity.subject }, ends);
      this.#options.log.info('vmcp is logged in at the registry');
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unknown error';
      this.#options.log.warn('the login at the registry failed', { cause });
    } finally {
      listener.close();
      if (this.#attempt === listener) this.#attempt = undefined;
    }
  }

  async #refresh({ grant, subject }: GrantedLogin): Promise<void> {
    const ends = this.#ends;
    const result = await this.#upstream.refresh({ grant, subject });
    switch (result.outcome) {
      case 'refreshed':
        await this.#keep({ grant: result.grant, subject }, ends);
        return;
      case 'dead':
        this.#login = undefined;
        this.#options.log.warn('the login at the registry has ended: log in again', { cause: result.reason });
        return;
      case 'unavailable':
        if (result.rotated) await this.#keep({ grant: { ...grant, refreshToken: result.rotated }, subject }, ends);
        throw new RegistryFault('connect', 'the provider of the registry does not refresh the login: try again later');
    }
  }

  /** Throws `RegistryFault`, and revokes the tokens, if the login was ended after they were requested. */
  async #keep(login: GrantedLogin, ends: number): Promise<void> {
    if (ends !== this.#ends) {
      void this.#upstream.revoke(login.grant);
      throw loginRequired();
    }
    this.#login = login;
    this.#writing = this.#options.store.write(this.#options.auth, login);
    await this.#writing;
  }

  #isExpired({ grant: { expiresAt } }: GrantedLogin): boolean {
    return expiresAt !== undefined && expiresAt - EARLY_MS <= this.#options.now();
  }
}

export const loginRequired = (): RegistryFault =>
  new RegistryFault('auth', 'the registry requires a login: POST /api/v1beta/registry/auth/login starts it');

const random = (): string => randomBytes(32).toString('base64url');

const redirectUri = (port: number): string => `http://127.0.0.1:${String(port)}/callback`;
