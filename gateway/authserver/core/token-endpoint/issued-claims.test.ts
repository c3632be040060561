import { describe, expect, it } from 'vitest';
import { accessTokenClaims, idTokenClaims, userinfoClaims, type LoginGrant } from './issued-claims.ts';

const ISSUER = 'https://gateway.example/team';
const GRANT: LoginGrant = {
  clientId: 'https://client.example/client.json',
  resource: 'https://gateway.example/team/mcp',
  scopes: ['openid', 'mcp'],
  tsid: 't-1',
  login: { userId: 'user-1', authTime: 900_999, name: 'Ann', email: 'ann@example.com' },
};
const AT = { issuer: ISSUER, now: 1_000_999, lifespanSeconds: 3_600 };

describe('an access token', () => {
  it('has the claims of RFC 9068 §2.2 and the tsid of the login', () => {
    expect(accessTokenClaims(GRANT, AT, 'jti-1')).toEqual({
      iss: ISSUER,
      sub: 'user-1',
      aud: GRANT.resource,
      exp: 4_600,
      iat: 1_000,
      jti: 'jti-1',
      client_id: GRANT.clientId,
      scope: 'openid mcp',
      tsid: 't-1',
      auth_time: 900,
    });
  });
});

describe('an access token without scopes', () => {
  it('has no scope claim', () => {
    expect(accessTokenClaims({ ...GRANT, scopes: [] }, AT, 'j')).not.toHaveProperty('scope');
  });
});

describe('an ID token', () => {
  const binding = { sessionId: 'family-1', accessToken: 'at', alg: 'ES256' };

  it('has the client as audience', () => {
    expect(idTokenClaims(GRANT, AT, { ...binding, nonce: 'n' })).toEqual({
      iss: ISSUER,
      sub: 'user-1',
      aud: GRANT.clientId,
      sid: 'family-1',
      exp: 4_600,
      iat: 1_000,
      auth_time: 900,
      at_hash: expect.stringMatching(/^[\w-]{22}$/),
      nonce: 'n',
    });
    expect(idTokenClaims(GRANT, AT, binding)).not.toHaveProperty('nonce');
  });

  it('is bound to the access token as in OpenID Connect Core appendix A.3', () => {
    const accessToken = 'jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y';
    expect(idTokenClaims(GRANT, AT, { ...binding, accessToken, alg: 'RS256' }).at_hash).toBe('77QmUPtjPfzWtF2AnpK9RQ');
  });

  it.each([
    ['RS256', 16],
    ['ES256', 16],
    ['ES384', 24],
    ['ES512', 32],
    ['EdDSA', 32],
  ])('of %s carries %i bytes of the hash', (alg, bytes) => {
    expect(Buffer.from(idTokenClaims(GRANT, AT, { ...binding, alg }).at_hash, 'base64url')).toHaveLength(bytes);
  });
});

describe('name and e-mail', () => {
  it.each([
    [['openid'], {}],
    [['profile'], { name: 'Ann' }],
    [['email'], { email: 'ann@example.com' }],
    [['profile', 'email'], { name: 'Ann', email: 'ann@example.com' }],
  ])('with %j: %j', (scopes, profile) => {
    const grant = { ...GRANT, scopes };
    const pick = ({ name, email }: { name?: string; email?: string }) => ({ name, email });
    const { sub, ...rest } = userinfoClaims(grant);
    expect(sub).toBe('user-1');
    expect(rest).toEqual(profile);
    expect(pick(accessTokenClaims(grant, AT, 'j'))).toEqual(pick(profile));
    expect(pick(idTokenClaims(grant, AT, { sessionId: 's', accessToken: 'a', alg: 'ES256' }))).toEqual(pick(profile));
  });

  it('are left out when unknown', () => {
    const grant = { ...GRANT, scopes: ['profile', 'email'], login: { userId: 'user-1', authTime: 0 } };
    expect(userinfoClaims(grant)).toEqual({ sub: 'user-1' });
  });
});
