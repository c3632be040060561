import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import { CLIENT_URL, ScriptedBrowser } from '../harness/browser/scripted-browser.ts';

type Registered = Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
type Tokens = Awaited<ReturnType<OAuthClientProvider['tokens']>>;

/** Metadata of a public client with refresh tokens, for registrations and for published documents. */
export const CLIENT_METADATA = {
  client_name: 'scripted client',
  redirect_uris: [CLIENT_URL],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

export interface LoginOptions {
  /** A browser with earlier logins. */
  readonly browser?: ScriptedBrowser;
  /** URL of the client's metadata document; without it the client registers. */
  readonly clientMetadataUrl?: string;
}

/**
 * Authorization state of an MCP client, with a scripted user and browser. It knows only the URL of the server:
 * everything else comes from the challenge. Works with SDK 1.x and 2.x.
 */
export class ScriptedLogin {
  readonly redirectUrl = CLIENT_URL;
  readonly clientMetadata = CLIENT_METADATA;
  readonly clientMetadataUrl?: string;
  readonly browser: ScriptedBrowser;
  /** Number of logins in the browser. */
  logins = 0;
  /** Number of received token responses, from logins and refreshes. */
  grants = 0;
  /** Secrets that no log may contain: states, verifiers, codes, tokens. */
  readonly secrets = new Set<string>();
  #registered: Registered;
  #tokens: Tokens;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = '';
  #callback: URL | undefined;

  constructor(user: string, { browser = new ScriptedBrowser({ user }), clientMetadataUrl }: LoginOptions = {}) {
    this.browser = browser;
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
  }

  get accessToken(): string {
    return this.#tokens?.access_token ?? '';
  }

  get refreshToken(): string {
    return this.#tokens?.refresh_token ?? '';
  }

  get clientId(): string {
    return this.#registered?.client_id ?? '';
  }

  /** Query of the last redirect to the client. */
  get callback(): URLSearchParams {
    if (this.#callback === undefined) throw new Error('there was no login in the browser');
    return this.#callback.searchParams;
  }

  /** Makes the access token invalid, like an expired one. */
  spoilAccessToken(): void {
    if (this.#tokens)
      this.#tokens = { ...this.#tokens, access_token: `${this.#tokens.access_token.slice(0, -8)}AAAAAAAA` };
  }

  state(): string {
    const state = randomBytes(16).toString('base64url');
    this.secrets.add(state);
    return state;
  }

  clientInformation(): Registered {
    return this.#registered;
  }

  saveClientInformation(registered: NonNullable<Registered>): void {
    this.#registered = registered;
  }

  tokens(): Tokens {
    return this.#tokens;
  }

  /** Called when the server reports an invalid credential. */
  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (what === 'all' || what === 'client') this.#registered = undefined;
    if (what === 'all' || what === 'tokens') this.#tokens = undefined;
  }

  saveTokens(tokens: NonNullable<Tokens>): void {
    this.grants += 1;
    this.#tokens = tokens;
    for (const token of [tokens.access_token, tokens.refresh_token, tokens.id_token])
      if (token !== undefined) this.secrets.add(token);
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.logins += 1;
    this.#callback = await this.browser.login(url);
    this.secrets.add(this.#callback.searchParams.get('code') ?? 'no code');
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
    this.secrets.add(verifier);
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}
