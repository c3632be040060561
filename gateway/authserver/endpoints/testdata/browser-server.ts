import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { onTestFinished } from 'vitest';
import { ownCallback } from '../../../contract/addresses.ts';
import { route } from '../../../http/endpoint/router.ts';
import { createOutbound } from '../../../outbound/fetch.ts';
import type { Client } from '../../storage/records.ts';
import { createClientDirectory, type ClientDirectory } from '../../clients/directory.ts';
import { METADATA_RULES } from '../../clients/testdata/rules.ts';
import type { AuthServerEvent } from '../../events.ts';
import type { AuthServerContext } from '../../context.ts';
import type { SecretRing } from '../../core/opaque-token.ts';
import { clientAddresses } from '../../../http/client-address.ts';
import { oauthErrors } from '../../http/oauth-errors.ts';
import { HmacSecrets } from '../../keys/secrets.ts';
import { SigningKeys } from '../../keys/signing-keys.ts';
import { legHandle } from '../../login/legs.ts';
import { createLoginLiveness } from '../../sessions/liveness.ts';
import { registrationStore } from '../../upstream/open-upstreams.ts';
import { createSessions } from '../../sessions/sessions.ts';
import type { AuthServerSettings } from '../../settings.ts';
import { memoryStore } from '../../storage/memory.ts';
import { TrustedIssuers } from '../../trust/trusted-issuers.ts';
import type { Store } from '../../storage/store.ts';
import type { UpstreamEntry } from '../../upstream/index.ts';
import { Browser, type Visited } from '../../upstream/testdata/browser.ts';
import { upstreamFor } from '../../upstream/testdata/upstream-under-test.ts';
import { authorizeEndpoint } from '../browser/authorize.ts';
import { callbackEndpoint } from '../browser/callback.ts';
import { consentEndpoint } from '../browser/consent.ts';

export const RESOURCE = 'https://gateway.example/mcp';
export const CLIENT_REDIRECT = 'https://client.example/cb?from=vmcp';
export const VERIFIER = 'v'.repeat(43);
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

export const CLIENT: Client = {
  client_id: 'vcl_1',
  source: 'registered',
  metadata: {
    redirect_uris: [CLIENT_REDIRECT, 'http://127.0.0.1:7000/cb', 'cursor://app/cb'],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'openid profile tools',
    client_name: 'Claude <b>Code</b>',
  },
  issuedAt: 1_700_000_000_000,
};

/** Creates the upstream configurations by name, in order, from the callback URL. */
export type Entries = (callbackUrl: string) => EntriesByName | Promise<EntriesByName>;
type EntriesByName = Readonly<Record<string, UpstreamEntry>>;

export interface ServerOptions {
  readonly settings?: Partial<AuthServerSettings>;
  readonly store?: Store;
  readonly clients?: readonly Client[];
  /** HMAC secrets that replicas share. New ones by default. */
  readonly secrets?: SecretRing;
  /** Allows client id metadata documents, on this machine too. */
  readonly documents?: boolean;
  /** Gives the server https URLs, so that it sets `__Host-` cookies. The connection stays plain. */
  readonly https?: boolean;
  /** Gives the authorization endpoint another origin than the other endpoints. */
  readonly elsewhere?: boolean;
}

export interface BrowserServer {
  readonly issuer: string;
  /** Origin of the listener. */
  readonly listening: string;
  readonly callbackUrl: string;
  readonly store: Store;
  readonly context: AuthServerContext;
  /** Name and facts of every event. */
  readonly events: [AuthServerEvent, Readonly<Record<string, unknown>>][];
  readonly logged: string[];
  advance(ms: number): void;
  /** Returns an authorization URL. undefined leaves a parameter out. */
  authorizeUrl(changes?: Readonly<Record<string, string | undefined>>, more?: string): string;
  /** Returns a browser that stops at the client's redirect URI. */
  browser(stopAt?: string, headers?: Readonly<Record<string, string>>): Browser;
  /** Sends an authorization request and returns its consent page. */
  toConsent(browser: Browser, changes?: Readonly<Record<string, string | undefined>>): Promise<Visited>;
  /** Approves the consent page and returns the URL of the first provider. */
  toProvider(browser: Browser, changes?: Readonly<Record<string, string | undefined>>): Promise<string>;
}

/** Returns the store key of the leg that an upstream authorization URL belongs to. */
export function handleOf(authorizationUrl: string, { context }: Pick<BrowserServer, 'context'>): string {
  const asked = new URL(authorizationUrl).searchParams;
  return legHandle(asked.get('state') ?? '', new URL(asked.get('redirect_uri') ?? '').pathname, context);
}

/** Starts the authorize, consent and callback endpoints on a listener. Closes it after the test. */
export async function browserServer(entries: Entries, options: ServerOptions = {}): Promise<BrowserServer> {
  const app = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const made = await makeContext(issuer, entries, options);
  const { context, emit } = made;
  const endpoints = [authorizeEndpoint, consentEndpoint, callbackEndpoint].flatMap((endpoint) => endpoint(context));
  app.use(route(endpoints, oauthErrors({ server: new URL(issuer).host, emit, log: context.log })));
  return { issuer, listening: issuer, callbackUrl: context.settings.callbackUrl, ...made, ...driver(issuer) };
}

async function makeContext(issuer: string, entries: Entries, options: ServerOptions) {
  let ms = Date.now();
  const now = () => ms;
  const logged: string[] = [];
  const events: BrowserServer['events'] = [];
  const line = (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const log = { error: line, warn: line, info: line, debug: line };
  const emit: AuthServerContext['emit'] = (event, facts = {}) => void events.push([event, facts]);
  const { store = memoryStore(now), clients: known = [CLIENT] } = options;
  for (const client of known) await store.clients.register(client, 86_400_000, 0);
  const callbackUrl = `${issuer}/oauth/callback`;
  const named = Object.entries(await entries(callbackUrl));
  const upstreams = new Map(
    named.map(([name, entry], index) => {
      const ownRedirectUri = index === 0 ? undefined : ownCallback(issuer, name);
      const deps = { name, redirectUri: callbackUrl, ownRedirectUri, now, log, registrations: registrationStore(store) };
      return [name, upstreamFor(entry, deps).upstream];
    }),
  );
  const settings = settingsFor(issuer, [...upstreams.keys()], options);
  const keys = new SigningKeys({ files: [], log });
  const ring = new HmacSecrets({ files: [], log });
  const secrets = (): SecretRing => options.secrets ?? ring.ring();
  const deps = { settings, store, now, secrets, log, outbound: createOutbound };
  const clients: ClientDirectory = createClientDirectory(deps);
  const liveness = createLoginLiveness(store, now);
  const addressOf = clientAddresses(settings.trustedProxies);
  const context: AuthServerContext = {
    ...{ settings, store, keys, clients, upstreams, now, emit, log, secrets },
    sessions: createSessions({ settings, store, upstreams, liveness, now, log, emit }),
    random: randomBytes,
    trust: new TrustedIssuers({ issuers: [], outbound: createOutbound, addressOf, now, log }),
    addressOf,
  };
  return { context, emit, store, events, logged, advance: (by: number) => void (ms += by) };
}

const DOCUMENTS = {
  hosts: { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: true },
  allowCrossOriginRedirects: true,
  cacheSize: 8,
  fallbackTtlMs: 300_000,
};

function settingsFor(
  issuer: string,
  names: readonly string[],
  { settings, https, elsewhere = false, documents = false }: ServerOptions,
): AuthServerSettings {
  const [first = 'none', ...others] = names;
  const limit = { capacity: 10_000, perSecond: 1_000 };
  return {
    urls: { issuer, ...(elsewhere && { authorizationEndpointBaseUrl: 'https://login.example' }) },
    consentUrl: `${https === true ? issuer.replace('http:', 'https:') : issuer}/oauth/consent`,
    callbackUrl: `${issuer}/oauth/callback`,
    callbackPaths: [`${issuer}/oauth/callback`, ...others.map((name) => ownCallback(issuer, name))].map(
      (url) => new URL(url).pathname,
    ),
    audiences: [RESOURCE],
    scopesSupported: METADATA_RULES.scopesSupported,
    lifespans: { accessToken: 3_600, refreshToken: 604_800, code: 60 },
    refreshGraceMs: 60_000,
    clients: { metadata: METADATA_RULES, maxRegistered: 0, ...(documents && { documents: DOCUMENTS }) },
    consent: { mode: 'remember', trustedClients: new Set() },
    reuseUpstreamTokens: true,
    providers: [first, ...others],
    limits: {
      ...{ authorizationsPerAddress: limit, registrationsPerAddress: limit, registrations: limit },
      ...{ authorizations: limit, documentFetches: limit },
      ...{ documentFetchesPerAddress: limit, failuresPerClient: limit },
    },
    trustedProxies: [],
    ...settings,
  };
}

function driver(issuer: string): Pick<BrowserServer, 'authorizeUrl' | 'browser' | 'toConsent' | 'toProvider'> {
  const authorizeUrl: BrowserServer['authorizeUrl'] = (changes = {}, more = '') => {
    const members: [string, string | undefined][] = Object.entries({
      response_type: 'code',
      client_id: CLIENT.client_id,
      redirect_uri: CLIENT_REDIRECT,
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      state: 'state of the client',
      resource: RESOURCE,
      ...changes,
    });
    const sent = members.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
    return `${issuer}/oauth/authorize?${new URLSearchParams(sent).toString()}${more}`;
  };
  const toConsent: BrowserServer['toConsent'] = async (browser, changes) => {
    const asked = await browser.visit(authorizeUrl(changes));
    return asked.location?.includes('/oauth/consent?') === true ? browser.visit(plain(asked.location)) : asked;
  };
  const plain = (url: string): string => url.replace('https:', 'http:');
  return {
    authorizeUrl,
    toConsent,
    browser: (stopAt = CLIENT_REDIRECT, headers = {}) => new Browser(stopAt, headers),
    async toProvider(browser, changes) {
      const { page, url, location } = await toConsent(browser, changes);
      if (location !== undefined) return location;
      const form = browser.fill(page, url, '');
      return (await browser.visit(form.url, form.body)).location ?? '';
    },
  };
}
