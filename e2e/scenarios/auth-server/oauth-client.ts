import * as oauth from 'oauth4webapi';
import { CLIENT_URL, type ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';

/** Option that allows http: the gateway listens on loopback. */
export const INSECURE = { [oauth.allowInsecureRequests]: true } as const;

export interface Flow {
  readonly url: URL;
  readonly state: string;
  readonly verifier: string;
  readonly nonce: string;
}

export interface AuthorizationOptions {
  readonly scope?: string;
  readonly resource?: string;
  readonly redirectUri?: string;
  readonly prompt?: string;
}

/** A client on oauth4webapi, which uses only the metadata of the server. */
export class OAuthClient {
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly #authentication: oauth.ClientAuth;

  constructor(server: oauth.AuthorizationServer, client: oauth.Client, authentication = oauth.None()) {
    this.server = server;
    this.client = client;
    this.#authentication = authentication;
  }

  /** Discovers the server and registers, by default as a public client. */
  static async register(issuer: string, metadata: Partial<oauth.OmitSymbolProperties<oauth.Client>> = {}) {
    const server = await OAuthClient.discover(issuer, 'oidc');
    const wanted = {
      client_name: 'black box',
      redirect_uris: [CLIENT_URL],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      ...metadata,
    };
    const reply = await oauth.dynamicClientRegistrationRequest(server, wanted, INSECURE);
    const client = await oauth.processDynamicClientRegistrationResponse(reply);
    const { client_secret: secret } = client;
    const basic = typeof secret === 'string' ? oauth.ClientSecretBasic(secret) : oauth.None();
    return new OAuthClient(server, client, basic);
  }

  static async discover(issuer: string, algorithm: 'oauth2' | 'oidc' = 'oauth2'): Promise<oauth.AuthorizationServer> {
    const reply = await oauth.discoveryRequest(new URL(issuer), { algorithm, ...INSECURE });
    return oauth.processDiscoveryResponse(new URL(issuer), reply);
  }

  async begin({ scope, resource, redirectUri = CLIENT_URL, prompt }: AuthorizationOptions = {}): Promise<Flow> {
    const [state, verifier, nonce] = [
      oauth.generateRandomState(),
      oauth.generateRandomCodeVerifier(),
      oauth.generateRandomNonce(),
    ];
    const url = new URL(this.server.authorization_endpoint ?? '');
    const parameters = {
      response_type: 'code',
      client_id: this.client.client_id,
      redirect_uri: redirectUri,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      scope,
      resource,
      prompt,
    };
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
    return { url, state, verifier, nonce };
  }

  /** Checks state and `iss` of the answer, then redeems its code. Throws the errors of oauth4webapi. */
  async redeem(callback: URL, flow: Flow, redirectUri = CLIENT_URL): Promise<oauth.TokenEndpointResponse> {
    const answer = oauth.validateAuthResponse(this.server, this.client, callback, flow.state);
    const { server, client } = this;
    const reply = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      this.#authentication,
      answer,
      redirectUri,
      flow.verifier,
      INSECURE,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, reply, { expectedNonce: flow.nonce });
    if (tokens.id_token !== undefined) await oauth.validateApplicationLevelSignature(server, reply, INSECURE);
    return tokens;
  }

  /** Runs a whole login with this browser. */
  async login(browser: ScriptedBrowser, options: AuthorizationOptions = {}): Promise<oauth.TokenEndpointResponse> {
    const flow = await this.begin(options);
    return this.redeem(await browser.login(flow.url), flow, options.redirectUri);
  }

  async refresh(refreshToken: string): Promise<oauth.TokenEndpointResponse> {
    const { server, client } = this;
    const reply = await oauth.refreshTokenGrantRequest(server, client, this.#authentication, refreshToken, INSECURE);
    return oauth.processRefreshTokenResponse(server, client, reply);
  }

  async revoke(token: string): Promise<void> {
    const reply = await oauth.revocationRequest(this.server, this.client, this.#authentication, token, INSECURE);
    await oauth.processRevocationResponse(reply);
  }

  async introspect(token: string): Promise<oauth.IntrospectionResponse> {
    const { server, client } = this;
    const reply = await oauth.introspectionRequest(server, client, this.#authentication, token, INSECURE);
    return oauth.processIntrospectionResponse(server, client, reply);
  }
}
