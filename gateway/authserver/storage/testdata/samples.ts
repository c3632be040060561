import { randomBytes } from 'node:crypto';
import type { Client, CodeGrant, Family, LoginAttempt, UpstreamRow, User } from '../records.ts';

export const HOUR_MS = 3_600_000;
export const unique = (): string => randomBytes(16).toString('base64url');

export const SPANS = { idleMs: HOUR_MS, liveMs: 2 * HOUR_MS };

const authorization = {
  clientId: 'client-1',
  scopes: ['openid', 'tools'],
  resource: 'https://mcp.example/mcp',
};
const login = { userId: 'user-1', authTime: 1_700_000_000_000, name: 'Ada', email: 'ada@example.com' };

export const attempt = (over: Partial<LoginAttempt> = {}): LoginAttempt => ({
  ...authorization,
  tsid: unique(),
  redirectUri: 'http://127.0.0.1:8123/callback',
  state: 'state of the client',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  cookieHash: unique(),
  createdAt: 1_700_000_000_000,
  remaining: ['github', 'slack'],
  leg: { provider: 'github', codeVerifier: unique(), nonce: unique() },
  ...over,
});

/** Returns a login attempt as the authorization request stores it: no browser has opened the consent page. */
export const unboundAttempt = (): LoginAttempt => {
  const { cookieHash: _none, leg: _neither, ...begun } = attempt();
  return begun;
};

export const codeGrant = (over: Partial<CodeGrant> = {}): CodeGrant => ({
  ...authorization,
  tsid: unique(),
  familyId: unique(),
  redirectUri: 'http://127.0.0.1:8123/callback',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  nonce: unique(),
  expiresAt: 1_700_000_060_000,
  login,
  ...over,
});

/** Returns a family that expires after 30 days. @param now clock of the store. */
export const family = (now: number, over: Partial<Family> = {}): Family => ({
  ...authorization,
  tsid: unique(),
  id: unique(),
  login,
  createdAt: now,
  expiresAt: now + 30 * 24 * HOUR_MS,
  ...over,
});

export const client = (over: Partial<Client> = {}): Client => ({
  client_id: `vcl_${unique()}`,
  source: 'registered',
  metadata: {
    redirect_uris: ['http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'openid tools',
    client_name: 'Client \u{1f600} "quoted"',
  },
  issuedAt: 1_700_000_000_000,
  ...over,
});

export const user = (over: Partial<User> = {}): User => ({
  id: unique(),
  provider: 'github',
  subject: unique(),
  createdAt: 1_700_000_000_000,
  ...over,
});

export const upstreamRow = (over: Partial<UpstreamRow> = {}): UpstreamRow => ({
  tsid: unique(),
  provider: 'github',
  userId: unique(),
  clientId: 'client-1',
  upstreamSubject: '42',
  upstreamClientId: 'gateway-at-github',
  accessToken: `gho_${unique()}`,
  refreshToken: `ghr_${unique()}`,
  expiresAt: 1_700_000_000_000,
  storedAt: 1_700_000_000_000,
  ...over,
});
