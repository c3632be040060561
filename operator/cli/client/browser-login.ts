import { randomBytes, createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import { printable } from '../../../gateway/contract/text/printable.ts';
import { openRedirectListener, type RedirectListener } from '../../../gateway/http/redirect-listener.ts';
import { isObject } from '../../../gateway/contract/json.ts';
import { writePrivateFile } from '../../local/secrets.ts';
import { makePrivateDir } from '../../local/state.ts';

const WAIT_MS = 300_000;

/** The login did not succeed. The message is for users. */
export class LoginFailed extends Error {}

/** Errors that another attempt of the same user can overcome. @see RFC 6749 §4.1.2.1 */
const REPEATABLE: readonly string[] = ['access_denied', 'temporarily_unavailable'];
const MAX_DESCRIPTION = 300;

/** Returns the message about a redirect without a code. */
function failureOf(parameters: URLSearchParams): string {
  const error = parameters.get('error');
  if (error === null) return 'the login failed (no code): run the command again';
  if (REPEATABLE.includes(error)) return `the login failed (${error}): run the command again`;
  const description = parameters.get('error_description')?.slice(0, MAX_DESCRIPTION);
  const cause = description ? `${error}: ${description}` : error;
  return `the login failed (${printable(cause)}): the log of the authorization server says why`;
}

/** Terminal and browser of the user, and the folder of stored logins. */
export interface LoginPlace {
  readonly stateDir: string;
  /** Client that an administrator has registered. If absent, the login registers a client. */
  readonly clientId?: string | undefined;
  /** False without a terminal and without $BROWSER: the user cannot log in. */
  readonly isInteractive: boolean;
  /** Shows the URL of the login to the user, and opens it. */
  readonly show: (url: URL) => void;
}

/**
 * Login of the user at an MCP server, for the transport of the SDK: a browser, a loopback redirect, and a stored
 * registration and tokens. Opens its listener when the server asks for a login.
 */
export class BrowserLogin implements OAuthClientProvider {
  readonly #url: string;
  readonly #place: LoginPlace;
  #login: Login;
  #listener: RedirectListener | undefined;
  #state = '';
  #verifier = '';
  /** Issuer of the authorization server's metadata. */
  #issuer: string | undefined;
  /** True when its metadata state that every redirect names the issuer. */
  #namesIssuer = false;
  #redirected: Promise<URLSearchParams | undefined> | undefined;

  private constructor(url: string, place: LoginPlace, login: Login) {
    this.#url = url;
    this.#place = place;
    this.#login = login;
  }

  static async open(url: string, place: LoginPlace): Promise<BrowserLogin> {
    const login = await readLogin(place.stateDir, url);
    const isOfOther = place.clientId !== undefined && login.client?.client_id !== place.clientId;
    return new BrowserLogin(url, place, isOfOther ? {} : login);
  }

  get redirectUrl(): string {
    return this.#listener?.redirectUri ?? '';
  }

  /** @see MCP 2026-07-28, basic/authorization/client-registration, Application Type and Redirect URI Constraints */
  get clientMetadata(): OAuthClientMetadata & { readonly application_type: string } {
    return {
      application_type: 'native',
      client_name: 'vmcp command line',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  /** Returns a new value for each login. */
  state(): string {
    this.#state = randomBytes(16).toString('base64url');
    return this.#state;
  }

  /** Opens the listener first: the registration and the login name its port. */
  async clientInformation(): Promise<OAuthClientInformationMixed | undefined> {
    const { tokens, port } = this.#login;
    if (tokens?.refresh_token === undefined) this.#requireUser();
    this.#listener ??= await openRedirectListener(
      [port ?? 0, 0], // the client is registered for the earlier port
      'Close this page and return to the terminal.',
    );
    const { clientId } = this.#place;
    if (clientId !== undefined)
      this.#login = { ...this.#login, client: { client_id: clientId }, port: this.#listener.port };
    return this.#listener.port === this.#login.port ? this.#login.client : undefined;
  }

  async saveClientInformation(client: OAuthClientInformationMixed): Promise<void> {
    await this.#save({ client, ...(this.#listener && { port: this.#listener.port }) });
  }

  tokens(): OAuthTokens | undefined {
    return this.#login.tokens;
  }

  async saveTokens(tokens: OAuthTokens): Promise<void> {
    await this.#save({ ...this.#login, tokens });
  }

  async invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    const { tokens: _, ...registered } = this.#login;
    if (what === 'all' || what === 'client') await this.#save({});
    else if (what === 'tokens') await this.#save(registered);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState({ authorizationServerMetadata: metadata }: OAuthDiscoveryState): void {
    this.#issuer = metadata?.issuer;
    const members: Readonly<Record<string, unknown>> = { ...metadata };
    this.#namesIssuer = members['authorization_response_iss_parameter_supported'] === true;
  }

  redirectToAuthorization(url: URL): void {
    this.#requireUser();
    // Other schemes start programs.
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new LoginFailed(`the authorization server names no page to log in at: its URL starts with ${url.protocol}`);
    this.#redirected = this.#listener?.receive(this.#state, WAIT_MS);
    this.#place.show(url);
  }

  /** Waits for the redirect and returns its code. Rejects with `LoginFailed`. */
  async code(): Promise<string> {
    const parameters = await this.#redirected;
    if (!parameters) throw new LoginFailed('nobody logged in within 5 minutes: run the command again');
    const issuer = parameters.get('iss');
    // RFC 9207 §2.4: a code of another authorization server is not sent to this one.
    if (issuer === null ? this.#namesIssuer : this.#issuer !== undefined && issuer !== this.#issuer)
      throw new LoginFailed('the login came from another authorization server: nothing was sent to it');
    const code = parameters.get('code');
    if (code !== null) return code;
    throw new LoginFailed(failureOf(parameters));
  }

  close(): void {
    this.#listener?.close();
  }

  #requireUser(): void {
    if (this.#place.isInteractive) return;
    throw new LoginFailed(
      `${this.#url} requires a login: run the command in a terminal, or pass a token in VMCP_TOKEN`,
    );
  }

  async #save(login: Login): Promise<void> {
    this.#login = login;
    await writeLogin(this.#place.stateDir, this.#url, login);
  }
}

/** Registration and tokens of this client at one MCP server. */
interface Login {
  /** Port of the registered redirect URI. */
  readonly port?: number;
  readonly client?: OAuthClientInformationMixed;
  readonly tokens?: OAuthTokens;
}

/** File of a login. Its name is a digest, because a URL can contain a key. */
const fileOf = (stateDir: string, url: string): string =>
  join(stateDir, 'logins', `${createHash('sha256').update(url).digest('hex').slice(0, 32)}.json`);

/** Reads the login at a server. An absent or unreadable file is no login. */
async function readLogin(stateDir: string, url: string): Promise<Login> {
  try {
    const login: unknown = JSON.parse(await readFile(fileOf(stateDir, url), 'utf8'));
    return isObject(login) ? login : {};
  } catch {
    return {};
  }
}

/** Writes the login with mode 0600 in a folder of mode 0700. */
async function writeLogin(stateDir: string, url: string, login: Login): Promise<void> {
  makePrivateDir(stateDir);
  makePrivateDir(join(stateDir, 'logins'));
  await writePrivateFile(fileOf(stateDir, url), `${JSON.stringify(login)}\n`);
}
