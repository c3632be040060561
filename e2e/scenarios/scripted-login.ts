import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import { CLIENT_URL, ScriptedBrowser } from '../harness/browser/scripted-browser.ts';

type Registered = Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
type Tokens = Awaited<ReturnType<OAuthClientProvider['tokens']>>;

/** A public client with refresh tokens, as MCP clients are; a registration and a published document say the same. */
export const CLIENT_METADATA = {
  client_name: 'scripted client',
  redirect_uris: [CLIENT_URL],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

export interface LoginOptions {
  /** One that has been somewhere before. */
  readonly browser?: ScriptedBrowser;
  /** Where the client publishes its document; absent, it registers. */
  readonly clientMetadataUrl?: string;
}

/**
 * What an MCP client keeps about its authorization, and a person at the browser. It knows no address but the server's:
 * everything else comes from the challenge. Serves the SDK 1.x and 2.x alike.
 */
export class ScriptedLogin {
  readonly redirectUrl = CLIENT_URL;
  readonly clientMetadata = CLIENT_METADATA;
  readonly clientMetadataUrl?: string;
  readonly browser: ScriptedBrowser;
  /** How often the person was sent to the browser. */
  logins = 0;
  /** How often tokens came: at a login and at each refresh. */
  grants = 0;
  /** Everything that no log may show: states, verifiers, codes, tokens. */
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

  /** Query of the redirect that the browser ended with. */
  get callback(): URLSearchParams {
    if (this.#callback === undefined) throw new Error('nobody was sent to the browser');
    return this.#callback.searchParams;
  }

  /** Makes the access token useless, as time does. */
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

  /** Called when the server says that a credential is of no use any more. */
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
