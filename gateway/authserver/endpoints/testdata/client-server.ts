import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { onTestFinished } from 'vitest';
import { route } from '../../../http/endpoint/router.ts';
import { createOutbound } from '../../../outbound/fetch.ts';
import type { AuthMethod, Client, CodeGrant } from '../../storage/records.ts';
import { DelegateClients } from '../../clients/delegate-clients.ts';
import { createClientDirectory } from '../../clients/directory.ts';
import { secretHash } from '../../clients/client-authentication.ts';
import { METADATA_RULES } from '../../clients/testdata/rules.ts';
import type { AuthServerEvent } from '../../events.ts';
import type { AuthServerContext } from '../../context.ts';
import { issueToken, type SecretRing } from '../../core/opaque-token.ts';
import { oauthErrors } from '../../http/oauth-errors.ts';
import { clientAddresses, type AddressOf } from '../../../http/client-address.ts';
import { SigningKeys } from '../../keys/signing-keys.ts';
import { createLoginLiveness } from '../../sessions/liveness.ts';
import { createSessions } from '../../sessions/sessions.ts';
import type { AuthServerSettings } from '../../settings.ts';
import { memoryStore } from '../../storage/memory.ts';
import { TrustedIssuers } from '../../trust/trusted-issuers.ts';
import type { Store } from '../../storage/store.ts';
import { upstreamRow } from '../../storage/testdata/samples.ts';
import { introspectEndpoint } from '../introspect.ts';
import { jwksEndpoint, metadataEndpoint } from '../metadata.ts';
import { logoutEndpoint } from '../browser/logout.ts';
import { registerEndpoint, registrationEndpoint } from '../registration.ts';
import { revokeEndpoint } from '../revoke.ts';
import { tokenEndpoint } from '../token.ts';
import { userinfoEndpoint } from '../userinfo.ts';

/** Configured issuer, which differs from the address of the listener. */
export const ISSUER = 'https://gateway.example/team';
export const RESOURCE = 'https://gateway.example/team/mcp';
export const REDIRECT = 'https://client.example/cb';
export const SIGNED_OUT = 'https://client.example/bye?from=vmcp';
export const VERIFIER = 'v'.repeat(43);
export const SECRET = 'vcs_c2VjcmV0IG9mIHRoZSB0ZXN0cyBpcyBsb25nIGVub3VnaA';
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

const client = (client_id: string, method: AuthMethod, metadata: Partial<Client['metadata']> = {}): Client => ({
  client_id,
  source: 'registered',
  metadata: {
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: method,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'openid profile email tools',
    post_logout_redirect_uris: [SIGNED_OUT],
    ...metadata,
  },
  issuedAt: 1_700_000_000_000,
  ...(method !== 'none' && { secretHash: secretHash(SECRET) }),
});

export const CLIENTS = {
  public: client('vcl_public', 'none'),
  other: client('vcl_other', 'none'),
  basic: client('vcl_basic', 'client_secret_basic'),
  post: client('vcl_post', 'client_secret_post'),
  codeOnly: client('vcl_code', 'none', { grant_types: ['authorization_code'] }),
  twoRedirects: client('vcl_two', 'none', { redirect_uris: [REDIRECT, 'http://127.0.0.1/cb'] }),
} as const;

export interface ServerOptions {
  readonly settings?: Partial<AuthServerSettings>;
  readonly store?: Store;
  readonly keys?: SigningKeys;
  readonly secrets?: SecretRing;
  readonly trustedProxies?: readonly string[];
  /** Replaces the client addresses, which are all loopback in a test. */
  readonly addressOf?: AddressOf;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** {} for a body that is no JSON object. */
  readonly json: Readonly<Record<string, unknown>>;
}

export type Form = Readonly<Record<string, string | undefined>> | string;

export interface ClientServer {
  readonly context: AuthServerContext;
  readonly url: string;
  readonly events: [AuthServerEvent, Readonly<Record<string, unknown>>][];
  readonly logged: string[];
  advance(ms: number): void;
  /** `path` is relative to the issuer, or absolute if it starts with `//`. */
  request(path: string, init?: RequestInit): Promise<Reply>;
  post(path: string, form: Form, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** Issues a code as the callback endpoint does. */
  code(over?: Partial<CodeGrant>): Promise<string>;
  redeem(code: string, over?: Readonly<Record<string, string | undefined>>): Promise<Reply>;
  refresh(token: unknown, over?: Readonly<Record<string, string | undefined>>): Promise<Reply>;
  /** Logs in and returns the tokens. */
  login(over?: Partial<CodeGrant>): Promise<Reply['json']>;
}

export const silent = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };
export const newSecrets = (): SecretRing => [new Uint8Array(randomBytes(32))];
export const basic = (id: string, secret: string): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

const GENEROUS = { capacity: 100_000, perSecond: 1_000 };

export const settingsFor = (over: Partial<AuthServerSettings> = {}): AuthServerSettings => ({
  urls: { issuer: ISSUER },
  consentUrl: `${ISSUER}/oauth/consent`,
  callbackUrl: `${ISSUER}/oauth/callback`,
  callbackPaths: ['/oauth/callback'],
  audiences: [RESOURCE],
  scopesSupported: METADATA_RULES.scopesSupported,
  lifespans: { accessToken: 3_600, refreshToken: 604_800, code: 60 },
  refreshGraceMs: 60_000,
  clients: { metadata: { ...METADATA_RULES, allowConfidential: true }, maxRegistered: 0 },
  consent: { mode: 'remember', trustedClients: new Set() },
  reuseUpstreamTokens: true,
  providers: ['idp'],
  limits: {
    authorizationsPerAddress: GENEROUS,
    registrationsPerAddress: GENEROUS,
    authorizations: GENEROUS,
    documentFetches: GENEROUS,
    registrations: GENEROUS,
    documentFetchesPerAddress: GENEROUS,
    failuresPerClient: GENEROUS,
  },
  trustedProxies: [],
  ...over,
});

/** Starts the endpoints that clients call on a listener. Closes it after the test. */
export async function clientServer(options: ServerOptions = {}): Promise<ClientServer> {
  const made = await makeContext(options);
  const { context } = made;
  const endpoints = [
    ...[metadataEndpoint, jwksEndpoint, tokenEndpoint, registerEndpoint],
    ...[registrationEndpoint, revokeEndpoint, introspectEndpoint, userinfoEndpoint, logoutEndpoint],
  ].flatMap((endpoint) => endpoint(context));
  const app = express();
  app.use(route(endpoints, oauthErrors({ server: 'gateway.example', emit: context.emit, log: context.log })));
  app.use((_req, res) => void res.status(404).json({ error: 'handed_on' }));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { ...made, url, ...driver(url, context) };
}

async function makeContext(options: ServerOptions) {
  let passed = 0;
  const now = (): number => Date.now() + passed;
  const logged: string[] = [];
  const events: ClientServer['events'] = [];
  const line = (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const log = { error: line, warn: line, info: line, debug: line };
  const emit: AuthServerContext['emit'] = (event, facts = {}) => void events.push([event, facts]);
  const settings = settingsFor(options.settings);
  const { store = memoryStore(now), keys = new SigningKeys({ files: [], log: silent }) } = options;
  for (const known of Object.values(CLIENTS)) await store.clients.register(known, 86_400_000, 0);
  const ring = options.secrets ?? newSecrets();
  const upstreams = new Map();
  const liveness = createLoginLiveness(store, now);
  const { clients: configured, issuers } = settings.delegation ?? { clients: [], issuers: [] };
  const addressOf = options.addressOf ?? clientAddresses(options.trustedProxies ?? []);
  const delegates = new DelegateClients({ clients: configured, readSecret: () => SECRET, log });
  const context: AuthServerContext = {
    ...{ settings, store, keys, upstreams, now, emit, log, random: randomBytes },
    secrets: () => ring,
    clients: createClientDirectory({ settings, store, now, secrets: () => ring, log, outbound: createOutbound, delegates }),
    sessions: createSessions({ settings, store, upstreams, liveness, now, log, emit }),
    trust: new TrustedIssuers({ issuers, outbound: createOutbound, addressOf, now, log }),
    addressOf,
  };
  return { context, events, logged, advance: (ms: number) => void (passed += ms) };
}

type Driver = Pick<ClientServer, 'request' | 'post' | 'code' | 'redeem' | 'refresh' | 'login'>;

function driver(url: string, context: AuthServerContext): Driver {
  const request: Driver['request'] = async (path, init = {}) => {
    const target = path.startsWith('//') ? `${url}${path.slice(1)}` : `${url}/team${path}`;
    const response = await fetch(target, { redirect: 'manual', ...init });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: jsonOf(text) };
  };
  const post: Driver['post'] = (path, form, headers = {}) =>
    request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: encoded(form),
    });
  const code: Driver['code'] = async (over) => {
    const made = issueToken('code', randomBytes(32), context.secrets()).reveal();
    const grant = grantFor(context, over);
    const { tsid, clientId } = grant;
    await context.store.upstreamTokens.put(
      upstreamRow({ tsid, provider: 'idp', clientId, userId: grant.login.userId, expiresAt: undefined }),
      120_000,
    );
    await context.store.codes.put(made, grant, 60_000);
    return made;
  };
  const redeem: Driver['redeem'] = (made, over = {}) =>
    post('/oauth/token', {
      ...{ grant_type: 'authorization_code', code: made, redirect_uri: REDIRECT, code_verifier: VERIFIER },
      client_id: 'vcl_public',
      ...over,
    });
  const refresh: Driver['refresh'] = (token, over = {}) =>
    post('/oauth/token', {
      ...{ grant_type: 'refresh_token', refresh_token: String(token), client_id: 'vcl_public' },
      ...over,
    });
  const login: Driver['login'] = async (over = {}) => {
    const { clientId = 'vcl_public' } = over;
    const made = await code(over);
    const credentials = clientId === 'vcl_post' || clientId === 'vcl_basic';
    const reply = await (credentials
      ? post(
          '/oauth/token',
          {
            ...{ grant_type: 'authorization_code', code: made, code_verifier: VERIFIER },
            ...(clientId === 'vcl_post' && { client_id: clientId, client_secret: SECRET }),
          },
          clientId === 'vcl_basic' ? basic(clientId, SECRET) : {},
        )
      : redeem(made, { client_id: clientId }));
    if (reply.status !== 200) throw new Error(`the login failed: ${reply.text}`);
    return reply.json;
  };
  return { request, post, code, redeem, refresh, login };
}

const grantFor = ({ now }: AuthServerContext, over: Partial<CodeGrant> = {}): CodeGrant => ({
  clientId: 'vcl_public',
  scopes: ['openid', 'profile', 'tools'],
  resource: RESOURCE,
  tsid: randomBytes(16).toString('base64url'),
  familyId: randomBytes(16).toString('base64url'),
  redirectUri: REDIRECT,
  codeChallenge: CHALLENGE,
  nonce: 'nonce of the client',
  expiresAt: now() + 60_000,
  login: { userId: 'user-1', authTime: now() - 5_000, name: 'Ann', email: 'ann@example.com' },
  ...over,
});

function encoded(form: Form): string {
  if (typeof form === 'string') return form;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) if (value !== undefined) parameters.set(name, value);
  return parameters.toString();
}

function jsonOf(text: string): Reply['json'] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Reply['json']) : {};
  } catch {
    return {};
  }
}
