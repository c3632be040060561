import { randomBytes, randomUUID } from 'node:crypto';
import { createRemoteJWKSet, importJWK, jwtVerify, type JWK } from 'jose';
import {
  ALGORITHMS,
  compactJws,
  newSigningKey,
  reuseKeys,
  signatureBy,
  type Algorithm,
  type SigningKey,
} from './issuer-keys.ts';
import {
  serveEndpoints,
  type Behaviours,
  type Endpoint,
  type EndpointRequest,
  type Endpoints,
  type EndpointsState,
} from './issuer-server.ts';
import type { Scope } from './scope.ts';

export type Claims = Readonly<Record<string, unknown>>;

export interface IssuerOptions {
  /** Path of the issuer identifier, such as `/tenant`; none by default. */
  readonly path?: string;
  /** Default `aud` of tokens. */
  readonly audience?: string;
  /** Algorithms of the signing keys, one key for each; RS256 and ES256 by default. The first key signs by default. */
  readonly algorithms?: readonly Algorithm[];
  /** Client secrets by client id, for introspection and token exchange; `vmcp`: `vmcp-client-secret` by default. */
  readonly clients?: Readonly<Record<string, string>>;
  readonly port?: number;
}

export interface SignOptions {
  /** The signing key, or its `kid`; the first key of the issuer by default. */
  readonly key?: SigningKey | string;
  /** Header members that replace `alg`, `kid` and `typ`; undefined removes a member. */
  readonly header?: Claims;
}

/** An authorization server that a test controls. Each endpoint can have a fault. */
export interface Issuer extends EndpointsState, Endpoints {
  /** The issuer identifier, `iss` of its tokens. */
  readonly url: string;
  readonly discoveryUrl: string;
  readonly jwksUrl: string;
  readonly introspectionUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Signing keys, in the order of the key set. */
  readonly keys: SigningKey[];
  /** Members that replace those of the discovery document. */
  discoveryOverrides: Claims;
  /** Every token, code and secret that it has issued, for leak checks. */
  readonly issued: Set<string>;
  /** URLs of key sets of other issuers; their tokens can be exchanged too. */
  readonly trustedKeySets: string[];
  /** Issues a JWT access token. The given claims replace iss, aud, sub, iat, exp, jti and client_id; undefined removes one. */
  token(claims?: Claims, options?: SignOptions): string;
  /** Issues an opaque token; introspection returns the claims that `token` would hold. */
  opaqueToken(claims?: Claims): string;
  /** Revokes a token: introspection returns `active: false`. */
  revoke(token: string): void;
  /** Adds a new first key of the same algorithm, and removes the other keys unless `keep`. */
  rotate(options?: { readonly alg?: Algorithm; readonly keep?: boolean }): SigningKey;
}

export const EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
const LIFETIME_S = 3_600;
const seconds = (): number => Math.floor(Date.now() / 1_000);

/** Starts an issuer on a free loopback port: discovery, key set, RFC 7662 introspection, RFC 8693 token exchange. */
export async function startIssuer(scope: Scope, options: IssuerOptions = {}): Promise<Issuer> {
  const clients = options.clients ?? { vmcp: 'vmcp-client-secret' };
  const path = options.path ?? '';
  const core = new IssuerCore(options, clients);
  scope.defer(() => {
    reuseKeys(core.keys);
  });
  const server = await serveEndpoints(scope, routesOf(path, core), core, options.port);
  core.url = `http://127.0.0.1:${String(server.port)}${path}`;
  const [clientId = '', clientSecret = ''] = Object.entries(clients)[0] ?? [];
  return Object.assign(core, server, {
    discoveryUrl: `${core.url}/.well-known/openid-configuration`,
    jwksUrl: `${core.url}/jwks`,
    introspectionUrl: `${core.url}/introspect`,
    tokenUrl: `${core.url}/token`,
    clientId,
    clientSecret,
  });
}

/** Serves discovery at the path of OpenID Connect and at both paths of RFC 8414. */
function routesOf(path: string, core: IssuerCore): Readonly<Record<string, Endpoint>> {
  const discovery: Endpoint = { name: 'discovery', answer: () => core.discovery() };
  return {
    [`${path}/.well-known/openid-configuration`]: discovery,
    [`/.well-known/openid-configuration${path}`]: discovery,
    [`/.well-known/oauth-authorization-server${path}`]: discovery,
    [`${path}/jwks`]: { name: 'jwks', answer: () => ({ json: { keys: core.keys.map((key) => key.publicJwk) } }) },
    [`${path}/introspect`]: { name: 'introspection', answer: (request) => core.introspect(request) },
    [`${path}/token`]: { name: 'token', answer: (request) => core.exchange(request) },
  };
}

/** Returns true for the canonical base64url form; decoders also accept padding and unused bits. */
const isCanonical = (token: string): boolean =>
  token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);

class IssuerCore implements EndpointsState {
  url = '';
  behave: Behaviours = {};
  delayMs = 0;
  redirectTo: string | undefined;
  readonly seen: EndpointRequest[] = [];
  readonly keys: SigningKey[];
  readonly issued = new Set<string>();
  readonly trustedKeySets: string[] = [];
  discoveryOverrides: Claims = {};
  readonly #audience: string;
  readonly #clients: Readonly<Record<string, string>>;
  readonly #opaque = new Map<string, Claims>();
  readonly #revoked = new Set<string>();
  #keyCount = 0;

  constructor(options: IssuerOptions, clients: Readonly<Record<string, string>>) {
    this.#audience = options.audience ?? 'vmcp';
    this.#clients = clients;
    this.keys = (options.algorithms ?? ['RS256', 'ES256']).map((alg) => this.#newKey(alg));
    for (const secret of Object.values(clients)) this.issued.add(secret);
  }

  #newKey(alg: Algorithm): SigningKey {
    this.#keyCount += 1;
    return newSigningKey(alg, `key-${String(this.#keyCount)}-${alg.toLowerCase()}`);
  }

  #claims(claims: Claims): Claims {
    const now = seconds();
    const usual = { iss: this.url, aud: this.#audience, sub: 'ann', iat: now, exp: now + LIFETIME_S };
    return { ...usual, jti: randomUUID(), client_id: 'test-client', ...claims };
  }

  token(claims: Claims = {}, { key, header }: SignOptions = {}): string {
    const by = typeof key === 'object' ? key : this.keys.find(({ kid }) => key === undefined || kid === key);
    if (by === undefined) throw new Error('no such key');
    const protectedHeader = { alg: by.alg, kid: by.kid, typ: 'at+jwt', ...header };
    const token = compactJws(protectedHeader, this.#claims(claims), (input) =>
      signatureBy(by.alg, by.privateKey, input),
    );
    this.issued.add(token);
    return token;
  }

  opaqueToken(claims: Claims = {}): string {
    const token = randomBytes(24).toString('base64url');
    this.#opaque.set(token, this.#claims(claims));
    this.issued.add(token);
    return token;
  }

  revoke(token: string): void {
    this.#revoked.add(token);
  }

  rotate({ alg, keep = false }: { readonly alg?: Algorithm; readonly keep?: boolean } = {}): SigningKey {
    const key = this.#newKey(alg ?? this.keys[0]?.alg ?? ALGORITHMS[0]);
    this.keys.splice(0, keep ? 0 : this.keys.length, key);
    return key;
  }

  discovery() {
    const usual = {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      jwks_uri: `${this.url}/jwks`,
      introspection_endpoint: `${this.url}/introspect`,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: this.keys.map(({ alg }) => alg),
      code_challenge_methods_supported: ['S256'],
      grant_types_supported: ['authorization_code', EXCHANGE_GRANT],
    };
    return { json: { ...usual, ...this.discoveryOverrides } };
  }

  async introspect(request: EndpointRequest) {
    if (!this.#isClient(request)) return { status: 401, json: { error: 'invalid_client' } };
    const token = request.form.get('token') ?? '';
    const claims = await this.#claimsOf(token);
    return { json: claims ? { active: true, token_type: 'Bearer', ...claims } : { active: false } };
  }

  async exchange(request: EndpointRequest) {
    const { form } = request;
    if (!this.#isClient(request)) return { status: 401, json: { error: 'invalid_client' } };
    if (form.get('grant_type') !== EXCHANGE_GRANT) return { status: 400, json: { error: 'unsupported_grant_type' } };
    const presented = form.get('subject_token') ?? '';
    const subject = (await this.#claimsOf(presented)) ?? (await this.#claimsOfOthers(presented));
    if (!subject) return { status: 400, json: { error: 'invalid_grant' } };
    const audience = form.get('audience') ?? form.get('resource') ?? 'exchanged';
    const scope = form.get('scope');
    return {
      json: {
        access_token: this.token({ sub: subject['sub'], aud: audience, ...(scope !== null && { scope }) }),
        issued_token_type: ACCESS_TOKEN_TYPE,
        token_type: 'Bearer',
        expires_in: LIFETIME_S,
      },
    };
  }

  /** Returns the claims of a valid token of this issuer. */
  async #claimsOf(token: string): Promise<Claims | undefined> {
    if (this.#revoked.has(token)) return undefined;
    const known = this.#opaque.get(token) ?? (await this.#verified(token));
    return known && Number(known['exp']) > seconds() ? known : undefined;
  }

  async #verified(token: string): Promise<Claims | undefined> {
    if (!isCanonical(token)) return undefined;
    for (const { publicJwk, alg } of this.keys) {
      try {
        const { payload } = await jwtVerify(token, await importJWK(publicJwk as JWK, alg));
        return payload;
      } catch {
        continue; // perhaps signed by another key
      }
    }
    return undefined;
  }

  async #claimsOfOthers(token: string): Promise<Claims | undefined> {
    for (const url of this.trustedKeySets) {
      try {
        const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(url)));
        return payload;
      } catch {
        continue; // perhaps of another issuer
      }
    }
    return undefined;
  }

  #isClient({ headers, form }: EndpointRequest): boolean {
    const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(' ');
    const basic = scheme === 'Basic' ? Buffer.from(credentials, 'base64').toString().split(':') : [];
    const decoded = basic.map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    const [id, secret] = basic.length > 0 ? decoded : [form.get('client_id'), form.get('client_secret')];
    return typeof id === 'string' && typeof secret === 'string' && this.#clients[id] === secret;
  }
}
