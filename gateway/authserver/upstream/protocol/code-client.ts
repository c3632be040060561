import type * as openidClient from 'openid-client';
import { Secret } from '../../../contract/identity.ts';
import { s256Challenge } from '../../core/pkce.ts';
import type { ClientAuthentication } from './client-authentication.ts';
import { toUpstreamError, UpstreamError } from '../upstream-error.ts';
import type { Provider } from './guards.ts';
import { ProviderKeys } from './provider-keys.ts';
import type { ReplyRules } from './token-reply.ts';
import { ProviderTransport } from './transport.ts';
import type { UpstreamGrant } from '../upstream.ts';

/** Loaded by the first login, since the operator also imports the variants and needs no client. */
let loaded: Promise<typeof openidClient> | undefined;
const load = () => (loaded ??= import('openid-client'));
type OpenidClient = typeof openidClient;
type Reply = Awaited<ReturnType<OpenidClient['authorizationCodeGrant']>>;

export interface CodeClientOptions {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly authentication: ClientAuthentication;
  /** Additional parameters of every token request. */
  readonly tokenParameters: Readonly<Record<string, string>> | undefined;
  readonly rules: ReplyRules;
  readonly timeoutMs: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Secrets of one login attempt. */
interface CodeSecrets {
  readonly state: string;
  /** Without it the request has no PKCE challenge. */
  readonly codeVerifier?: string | undefined;
  /** Required for OpenID Connect. */
  readonly nonce?: string | undefined;
  /** That of the options when absent. */
  readonly redirectUri?: string | undefined;
}

/** Tokens of a provider, with the claims and the reply that they came with. */
export interface Granted {
  readonly grant: UpstreamGrant;
  /** Claims of the verified ID token. */
  readonly claims: openidClient.IDToken | undefined;
  /** Token reply as received. */
  readonly reply: unknown;
}

/** A refresh succeeded, but its ID token could not be verified because the keys are unavailable. */
export class KeysUnavailable extends UpstreamError {
  readonly rotated: Secret | undefined;
  constructor(cause: UpstreamError, rotated: Secret | undefined) {
    super(cause.fault, cause.message);
    this.rotated = rotated;
  }
}

interface Session {
  readonly openid: OpenidClient;
  readonly config: openidClient.Configuration;
  readonly transport: ProviderTransport;
}

/** Client of one provider for the code flow with PKCE, based on openid-client. All methods reject with `UpstreamError`. */
export class CodeClient {
  readonly #options: CodeClientOptions;
  /** Configurations without secrets, for authorization URLs. */
  readonly #ofBrowsers = new WeakMap<openidClient.ServerMetadata, openidClient.Configuration>();
  readonly #keys: ProviderKeys;

  constructor(options: CodeClientOptions) {
    this.#options = options;
    this.#keys = new ProviderKeys(options.timeoutMs);
  }

  /** Returns the authorization URL. `parameters` are added to `client_id`, `response_type`, `redirect_uri`, `state` and PKCE. */
  async authorizationUrl(
    { metadata }: Pick<Provider, 'metadata'>,
    { state, codeVerifier, redirectUri = this.#options.redirectUri }: CodeSecrets,
    parameters: Readonly<Record<string, string>>,
  ): Promise<string> {
    const openid = await load();
    const { clientId } = this.#options;
    let config = this.#ofBrowsers.get(metadata);
    if (!config) {
      config = new openid.Configuration(metadata, clientId);
      allowHttp(openid, config);
      this.#ofBrowsers.set(metadata, config);
    }
    const url = openid.buildAuthorizationUrl(config, {
      ...parameters,
      redirect_uri: redirectUri,
      state,
      ...(codeVerifier !== undefined && { code_challenge: s256Challenge(codeVerifier), code_challenge_method: 'S256' }),
    });
    return url.href;
  }

  exchange(provider: Provider, code: string, secrets: CodeSecrets): Promise<Granted> {
    const { codeVerifier, nonce, state, redirectUri = this.#options.redirectUri } = secrets;
    const callback = new URL(redirectUri);
    callback.searchParams.set('code', code);
    callback.searchParams.set('state', state);
    const { authorization_response_iss_parameter_supported: promised, issuer } = provider.metadata;
    if (promised === true) callback.searchParams.set('iss', issuer); // `readCode` has checked it
    const checks = {
      expectedState: state,
      ...(codeVerifier !== undefined && { pkceCodeVerifier: codeVerifier }),
      ...(this.#options.rules.openid && nonce !== undefined && { expectedNonce: nonce, idTokenExpected: true }),
    };
    return this.#grant('the code exchange', provider, ({ openid, config }) =>
      openid.authorizationCodeGrant(config, callback, checks, this.#options.tokenParameters),
    );
  }

  /** Refreshes tokens. Sends no `scope` when it is undefined. May reject with `KeysUnavailable`. */
  refresh(provider: Provider, refreshToken: string, scope: string | undefined): Promise<Granted> {
    const parameters = { ...this.#options.tokenParameters, ...(scope !== undefined && { scope }) };
    return this.#grant('the refresh', provider, ({ openid, config }) =>
      openid.refreshTokenGrant(config, refreshToken, parameters),
    );
  }

  /** Revokes a token (RFC 7009). */
  async revoke(provider: Provider, token: string, hint: 'access_token' | 'refresh_token'): Promise<void> {
    await this.#run('the revocation', provider, ({ openid, config }) =>
      openid.tokenRevocation(config, token, { token_type_hint: hint }),
    );
  }

  #grant(what: string, provider: Provider, operation: (session: Session) => Promise<Reply>): Promise<Granted> {
    return this.#run(what, provider, async (session) => {
      const reply = await operation(session);
      await this.#checkSignature(what, reply, provider);
      const claims = reply.claims();
      return { grant: this.#grantOf(reply, claims), claims, reply: session.transport.tokenReply };
    });
  }

  /** Verifies the signature of the ID token; openid-client has checked its claims. */
  async #checkSignature(what: string, { id_token: idToken, refresh_token: rotated }: Reply, provider: Provider) {
    if (idToken === undefined) return;
    const genuine = await this.#keys.hasSigned(idToken, provider).catch((error: unknown) => {
      if (!(error instanceof UpstreamError)) throw error;
      throw new KeysUnavailable(error, rotated === undefined ? undefined : new Secret(rotated));
    });
    if (!genuine)
      throw new UpstreamError('bad_reply', `${what} failed: the ID token is not signed by a key of the provider`);
  }

  #run<T>(what: string, provider: Provider, operation: (session: Session) => Promise<T>): Promise<T> {
    const once = () => this.#attempt(what, provider, operation);
    const { token_endpoint_auth_methods_supported: methods } = provider.metadata;
    return methods ? once() : this.#options.authentication.withFallback(once);
  }

  async #attempt<T>(what: string, provider: Provider, operation: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#open(provider);
    try {
      return await operation(session);
    } catch (error) {
      throw toUpstreamError(error, { what, status: session.transport.status });
    }
  }

  /** Creates a configuration per operation, so that it has the current secret and its own reply. */
  async #open({ metadata, outbound }: Provider): Promise<Session> {
    const openid = await load();
    const { clientId, authentication, rules, timeoutMs } = this.#options;
    const transport = new ProviderTransport({ outbound, timeoutMs, tokenEndpoint: metadata.token_endpoint, rules });
    const config = new openid.Configuration(
      readByRequests(metadata),
      clientId,
      undefined,
      await authentication.authFor(clientId, metadata),
    );
    config[openid.customFetch] = transport.fetch;
    allowHttp(openid, config);
    return { openid, config, transport };
  }

  #grantOf(reply: Reply, claims: openidClient.IDToken | undefined): UpstreamGrant {
    if (reply.token_type.toLowerCase() !== 'bearer') {
      throw new UpstreamError('bad_reply', 'the provider issued a token whose token_type is not Bearer');
    }
    const { expires_in: seconds, refresh_token: refreshToken, id_token: idToken } = reply;
    return {
      accessToken: new Secret(reply.access_token),
      refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
      idToken: idToken === undefined ? undefined : new Secret(idToken),
      expiresAt: seconds === undefined ? undefined : this.#options.now() + seconds * 1_000,
      idTokenExpiresAt: claims === undefined ? undefined : claims.exp * 1_000,
      scope: reply.scope,
    };
  }
}

/** Members of the metadata that openid-client reads for requests of `CodeClient`. */
const READ: readonly string[] = [
  'issuer',
  'token_endpoint',
  'revocation_endpoint',
  'authorization_response_iss_parameter_supported',
  'id_token_signing_alg_values_supported',
];
const REDUCED = new WeakMap<openidClient.ServerMetadata, openidClient.ServerMetadata>();

/** Returns metadata with these members only: each configuration copies all of them, some 30 us for a whole document. */
function readByRequests(metadata: openidClient.ServerMetadata): openidClient.ServerMetadata {
  let reduced = REDUCED.get(metadata);
  if (!reduced) {
    const members = Object.entries(metadata).filter(([name]) => READ.includes(name));
    reduced = { ...Object.fromEntries(members), issuer: metadata.issuer };
    REDUCED.set(metadata, reduced);
  }
  return reduced;
}

/** Allows http in openid-client: the outbound guard checks every URL, and `check` the authorization endpoint. */
function allowHttp(openid: OpenidClient, config: openidClient.Configuration): void {
  // oxlint-disable-next-line typescript/no-deprecated -- deprecated as a warning only, it is not to be removed
  openid.allowInsecureRequests(config);
}
