import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';

type Registered = Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
type Tokens = Awaited<ReturnType<OAuthClientProvider['tokens']>>;

/** Where the authorization server sends the browser back to; nothing listens there. */
const REDIRECT = 'http://127.0.0.1:33418/callback';

/** A browser with cookies that answers the pages of `oidc-provider`: logs in as `user` and consents to everything. */
class Browser {
  readonly #cookies = new Map<string, string>();
  readonly #user: string;
  constructor(user: string) {
    this.#user = user;
  }

  /** Follows redirects and submits forms until it is sent to the client's redirect URI; returns that URL. */
  async visit(start: URL): Promise<URL> {
    let next: { url: URL; form?: URLSearchParams } = { url: start };
    for (let page = 0; page < 12; page += 1) {
      if (next.url.href.startsWith(REDIRECT)) return next.url;
      const response = await this.#load(next.url, next.form);
      const location = response.headers.get('location');
      const html = await response.text();
      next = location === null ? this.#answer(response.url, html) : { url: new URL(location, next.url) };
    }
    throw new Error(`the login does not end: ${next.url.pathname}`);
  }

  async #load(url: URL, form?: URLSearchParams): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const method = form ? 'POST' : 'GET';
    const response = await fetch(url, { method, redirect: 'manual', headers: { cookie }, ...(form && { body: form }) });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/u.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }

  #answer(url: string, html: string): { url: URL; form: URLSearchParams } {
    const action = /<form[^>]* action="([^"]+)"/u.exec(html)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/u.exec(html)?.[1];
    if (action === undefined || prompt === undefined) throw new Error(`no form on ${url}: ${html.slice(0, 500)}`);
    const form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login: this.#user, password: 'any' }) });
    return { url: new URL(action.replaceAll('&amp;', '&'), url), form };
  }
}

/**
 * What an MCP client keeps about its authorization, and a person at the browser. It knows no address but the server's:
 * everything else comes from the challenge. Serves the SDK 1.x and 2.x alike.
 */
export class ScriptedLogin {
  readonly redirectUrl = REDIRECT;
  /** As MCP clients register: public, and with refresh tokens. */
  readonly clientMetadata = {
    client_name: 'scripted client',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  /** How often the person was sent to the browser. */
  logins = 0;
  /** How often tokens came: at a login and at each refresh. */
  grants = 0;
  readonly #browser: Browser;
  #registered: Registered;
  #tokens: Tokens;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = '';
  #callback: URL | undefined;

  constructor(user: string) {
    this.#browser = new Browser(user);
  }

  get accessToken(): string {
    return this.#tokens?.access_token ?? '';
  }

  /** Query of the redirect that the browser ended with. */
  get callback(): URLSearchParams {
    if (this.#callback === undefined) throw new Error('nobody was sent to the browser');
    return this.#callback.searchParams;
  }

  state(): string {
    return 'state-of-the-scripted-client';
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

  saveTokens(tokens: NonNullable<Tokens>): void {
    this.grants += 1;
    this.#tokens = tokens;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.logins += 1;
    this.#callback = await this.#browser.visit(url);
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}
