import { generateKeyPairSync } from 'node:crypto';
import type { JWK } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EndpointReply, Misbehaviour } from '../../../e2e/harness/issuer-server.ts';
import { startIssuer, type Claims, type Issuer } from '../../../e2e/harness/issuer.ts';
import { GATEWAY_CLIENT, startIdentityProvider } from '../../../examples/identity-provider/provider.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import type { PrivateKeyJwtConfig } from '../../contract/run-config/private-key-jwt.ts';
import {
  AUDIENCE,
  filesIn,
  requestsFor,
  validatorFor,
  verdictOn,
  type Setup,
  type UnderTest,
} from '../testdata/validator-under-test.ts';

const CLIENT = 'vm cp+:é';
const SECRET = 's:e c+r%&=é';
let issuer: Issuer;
let clientSecretFile: string;

beforeEach(async () => {
  issuer = await startIssuer(testScope(), {
    algorithms: ['ES256'],
    audience: AUDIENCE,
    clients: { [CLIENT]: SECRET },
  });
  ({ secret: clientSecretFile } = await filesIn(testScope(), { secret: `${SECRET}\n` }));
});

const begin = (setup: Setup = {}): UnderTest =>
  validatorFor(testScope(), issuer.url, { ...setup, oidc: { clientID: CLIENT, clientSecretFile, ...setup.oidc } });
const now = (): number => Math.floor(Date.now() / 1000);
const asked = (): number => requestsFor(issuer, 'introspection');

describe('an opaque token', () => {
  it('is introspected at the endpoint that the issuer names, with Basic authentication', async () => {
    const { validator } = begin();
    const token = issuer.opaqueToken({ scope: 'a b', groups: ['x'], client_id: 'cli' });
    const identity = await validator.validate(token);
    expect(identity).toMatchObject({ subject: 'ann', issuer: issuer.url, clientId: 'cli', claims: { groups: ['x'] } });
    const request = issuer.seen.find(({ endpoint }) => endpoint === 'introspection');
    expect(request?.method).toBe('POST');
    expect(Object.fromEntries(request?.form ?? [])).toEqual({ token, token_type_hint: 'access_token' });
    expect(request?.headers.authorization).toMatch(/^Basic /);
  });

  it('is introspected at the configured endpoint without discovery', async () => {
    const { validator } = begin({ oidc: { introspectionURL: issuer.introspectionUrl } });
    expect(await verdictOn(validator, issuer.opaqueToken())).toBe('sub: ann');
    expect(requestsFor(issuer, 'discovery')).toBe(0);
  });

  it('is introspected with the secret in the form when the issuer supports client_secret_post only', async () => {
    issuer.discoveryOverrides = { introspection_endpoint_auth_methods_supported: ['client_secret_post'] };
    const { validator } = begin();
    expect(await verdictOn(validator, issuer.opaqueToken())).toBe('sub: ann');
    const request = issuer.seen.find(({ endpoint }) => endpoint === 'introspection');
    expect(request?.headers.authorization).toBeUndefined();
    expect(request?.form.get('client_secret')).toBe(SECRET);
  });

  it('is rejected without a request when no client secret is configured', async () => {
    const { validator } = validatorFor(testScope(), issuer.url);
    expect(await verdictOn(validator, issuer.opaqueToken())).toBe('opaque');
    expect(asked()).toBe(0);
  });
});

describe('an opaque token, for a gateway with a private key,', () => {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const PEM = keys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

  /** Starts `oidc-provider` and a gateway that introspects its opaque tokens with this key. */
  async function signing(text: string, more: Partial<PrivateKeyJwtConfig> = {}) {
    const clientKeys = [keys.publicKey.export({ format: 'jwk' }) as JWK];
    const silent = { port: 0, opaque: true, accessTokenSeconds: 60, log: () => undefined };
    const provider = await startIdentityProvider({ ...silent, clientKeys });
    testScope().defer(() => provider.close());
    const { key: file } = await filesIn(testScope(), { key: text });
    const key = { private_key_jwt: { private_key_file: file, ...more } };
    const oidc = { audience: 'http://127.0.0.1:4483/mcp', clientID: GATEWAY_CLIENT.id, ...key };
    const under = validatorFor(testScope(), provider.issuer, { oidc });
    const token = async () => (await (await fetch(`${provider.issuer}/dev/token/ann`)).text()).trim();
    return { ...under, token };
  }

  it('is introspected by oidc-provider, with a new assertion each time', async () => {
    const { validator, token } = await signing(PEM);
    const verdicts = [await verdictOn(validator, await token()), await verdictOn(validator, await token())];
    expect(verdicts).toEqual(['sub: ann', 'sub: ann']);
    const { validator: other, token: another } = await signing(PEM, { audience: 'https://other.example' });
    expect(await verdictOn(other, await another())).toBe('down: introspection');
  });

  it('is not introspected with an unusable key, which the log names', async () => {
    const { validator, log, token } = await signing('sesame');
    expect(await verdictOn(validator, await token())).toBe('down: introspection');
    expect(JSON.stringify(log)).toContain('there is no private key in PEM form');
  });
});

describe('an introspection answer', () => {
  const claims = (more: Claims = {}): Claims => ({ sub: 'ann', aud: AUDIENCE, exp: now() + 600, ...more });
  const rows: [string, () => Claims | unknown[], string][] = [
    ['is accepted when active is true', () => ({ active: true, ...claims() }), 'sub: ann'],
    ['is rejected when active is false', () => ({ active: false }), 'inactive'],
    ['is rejected when active is false, despite valid claims', () => ({ active: false, ...claims() }), 'inactive'],
    ['is rejected when active is a string', () => ({ active: 'true', ...claims() }), 'inactive'],
    ['is rejected when active is a number', () => ({ active: 1, ...claims() }), 'inactive'],
    ['is rejected without active', () => claims(), 'inactive'],
    ['is accepted without an issuer', () => ({ active: true, ...claims() }), 'sub: ann'],
    ['is accepted with the right issuer', () => ({ active: true, ...claims({ iss: issuer.url }) }), 'sub: ann'],
    ['is rejected with another issuer', () => ({ active: true, ...claims({ iss: 'https://evil.example' }) }), 'issuer'],
    ['is rejected with null as issuer', () => ({ active: true, ...claims({ iss: null }) }), 'issuer'],
    ['is rejected without an audience', () => ({ active: true, ...claims({ aud: undefined }) }), 'audience'],
    ['is rejected with another audience', () => ({ active: true, ...claims({ aud: 'other' }) }), 'audience'],
    [
      'is accepted with the audience in a list',
      () => ({ active: true, ...claims({ aud: ['other', AUDIENCE] }) }),
      'sub: ann',
    ],
    ['is rejected without exp', () => ({ active: true, ...claims({ exp: undefined }) }), 'expired'],
    [
      'is rejected with exp in the past, although active',
      () => ({ active: true, ...claims({ exp: now() - 60 }) }),
      'expired',
    ],
    ['is rejected with exp as a string', () => ({ active: true, ...claims({ exp: '9999999999' }) }), 'malformed'],
    ['is rejected with nbf in the future', () => ({ active: true, ...claims({ nbf: now() + 60 }) }), 'not_yet_valid'],
    ['is rejected without sub', () => ({ active: true, ...claims({ sub: undefined, username: 'ann' }) }), 'subject'],
    ['is rejected with a number as sub', () => ({ active: true, ...claims({ sub: 7 }) }), 'subject'],
    [
      'is rejected when the token is bound to a key',
      () => ({ active: true, ...claims({ cnf: { jkt: 'x' } }) }),
      'sender_constrained',
    ],
    ['is rejected with token type DPoP', () => ({ active: true, ...claims({ token_type: 'DPoP' }) }), 'token_type'],
    [
      'is rejected with token type refresh_token',
      () => ({ active: true, ...claims({ token_type: 'refresh_token' }) }),
      'token_type',
    ],
    ...['refresh_token', 'Refresh', 'id_token', 'authorization_code'].map((use): (typeof rows)[number] => [
      `is rejected with token type Bearer and token_use ${use}`,
      () => ({ active: true, ...claims({ token_type: 'Bearer', token_use: use }) }),
      use === 'id_token' ? 'id_token' : 'token_type',
    ]),
    [
      'is rejected with the typ of a refresh token of Keycloak',
      () => ({ active: true, ...claims({ typ: 'Refresh' }) }),
      'token_type',
    ],
    [
      'is rejected with a token_use that is no text',
      () => ({ active: true, ...claims({ token_use: ['access_token'] }) }),
      'malformed',
    ],
    [
      'is accepted with token_use access_token',
      () => ({ active: true, ...claims({ token_type: 'Bearer', token_use: 'access_token' }) }),
      'sub: ann',
    ],
    ['is accepted with token type bearer', () => ({ active: true, ...claims({ token_type: 'bearer' }) }), 'sub: ann'],
    ['causes an outage when it is a list', () => [{ active: true, ...claims() }], 'down: introspection'],
  ];
  it.each(rows)('%s', async (_, json, verdict) => {
    const { validator } = begin();
    issuer.behave = { introspection: () => ({ json: json() }) };
    expect(await verdictOn(validator, 'opaque-token')).toBe(verdict);
  });
});

describe('a faulty introspection endpoint', () => {
  const padded = (bytes: number) => (): EndpointReply => ({
    json: { active: true, sub: 'ann', aud: AUDIENCE, exp: now() + 600, padding: 'x'.repeat(bytes) },
  });
  const faults: [string, Misbehaviour | (() => EndpointReply)][] = [
    ['status 401', 'status-401'],
    ['status 404', 'status-404'],
    ['status 500', 'status-500'],
    ['status 403', () => ({ status: 403, json: { active: true } })],
    ['a connection reset', 'reset'],
    ['HTML', 'html'],
    ['half a document', 'garbage'],
    ['an empty reply', 'empty'],
    ['null', () => ({ body: 'null' })],
    ['a redirect', 'redirect'],
    ['a reply of 256 KB', padded(256 * 1024)],
    ['a reply of 65 KB', padded(65 * 1024)],
  ];
  it.each(faults)('causes an outage on %s, and the failure is not cached', async (_, introspection) => {
    const { validator, log } = begin();
    const token = issuer.opaqueToken();
    issuer.behave = { introspection };
    expect(await verdictOn(validator, token)).toBe('down: introspection');
    issuer.behave = {};
    expect(await verdictOn(validator, token)).toBe('sub: ann');
    expect(JSON.stringify(log)).not.toMatch(/INTERNAL-DETAIL|sign in|padding/);
    expect(JSON.stringify(log)).not.toContain(token);
    expect(JSON.stringify(log)).not.toContain(SECRET);
  });

  it('fails a request after about 10 s when it hangs, and later ones at once except for eight at a time', async () => {
    const { validator } = begin();
    issuer.behave = { introspection: 'hang' };
    const started = performance.now();
    expect(await verdictOn(validator, 'opaque')).toBe('down: introspection');
    expect(performance.now() - started).toBeLessThan(12_000);
    const before = asked();
    const flood = Array.from({ length: 200 }, (_, i) => verdictOn(validator, `opaque-${String(i)}`));
    expect(new Set(await Promise.all(flood.slice(8)))).toEqual(new Set(['down: introspection']));
    expect(performance.now() - started).toBeLessThan(13_000);
    await expect.poll(asked).toBe(before + 8);
    await Promise.all(flood);
    issuer.behave = {};
    expect(await verdictOn(validator, issuer.opaqueToken())).toBe('sub: ann');
  });

  it('is logged once when it rejects the client of the gateway', async () => {
    const { validator, log } = begin({ oidc: { clientID: 'nobody' } });
    for (const token of ['a', 'b', 'c']) expect(await verdictOn(validator, token)).toBe('down: introspection');
    expect(log.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  it('causes an outage when it is missing from the metadata, and the log names the field', async () => {
    issuer.discoveryOverrides = { introspection_endpoint: undefined };
    const { validator, log } = begin();
    expect(await verdictOn(validator, 'opaque')).toBe('down: introspection');
    expect(JSON.stringify(log)).toContain('introspectionUrl');
  });

  it.each(['http://10.0.0.1/introspect', 'http://169.254.169.254/', 'gopher://127.0.0.1/'])(
    'causes an outage at the forbidden address %s',
    async (url) => {
      issuer.discoveryOverrides = { introspection_endpoint: url };
      const { validator } = begin();
      expect(await verdictOn(validator, 'opaque')).toBe('down: introspection');
    },
  );

  it('cannot be discovered while the issuer is down', async () => {
    const { validator } = begin();
    await issuer.crash();
    expect(await verdictOn(validator, 'opaque')).toBe('down: discovery');
  });

  it('causes an outage when the file of the client secret is missing', async () => {
    const { validator, log } = begin({ oidc: { clientSecretFile: '/nowhere/secret' } });
    expect(await verdictOn(validator, 'opaque')).toBe('down: introspection');
    expect(JSON.stringify(log)).toContain('/nowhere/secret');
  });
});

describe('introspection answers', () => {
  it('are shared by 200 parallel requests with one token', async () => {
    const { validator } = begin();
    issuer.delayMs = 50;
    const token = issuer.opaqueToken();
    const verdicts = await Promise.all(Array.from({ length: 200 }, () => verdictOn(validator, token)));
    expect(new Set(verdicts)).toEqual(new Set(['sub: ann']));
    expect(asked()).toBe(1);
  });

  it('are separate for different tokens', async () => {
    const { validator } = begin();
    const tokens = Array.from({ length: 50 }, (_, i) => issuer.opaqueToken({ sub: `user-${String(i)}` }));
    const verdicts = await Promise.all(tokens.map((token) => verdictOn(validator, token)));
    expect(verdicts).toEqual(tokens.map((_, i) => `sub: user-${String(i)}`));
  });

  it('are cached for 60 s and returned synchronously when active', async () => {
    const { validator, elapse } = begin();
    const token = issuer.opaqueToken();
    const identity = await validator.validate(token);
    expect(validator.validate(token)).toBe(identity);
    issuer.revoke(token);
    elapse(59_000);
    expect(validator.validate(token)).toBe(identity);
    elapse(1_000);
    expect(await verdictOn(validator, token)).toBe('inactive');
    expect(asked()).toBe(2);
  });

  it('are not cached beyond the expiry of the token', async () => {
    const { validator, elapse } = begin();
    const token = issuer.opaqueToken({ exp: now() + 5 });
    await validator.validate(token);
    elapse(5_100);
    await verdictOn(validator, token);
    expect(asked()).toBe(2);
  });

  it('are cached for 10 s when inactive', async () => {
    const { validator, elapse } = begin();
    await verdictOn(validator, 'unknown');
    elapse(9_000);
    expect(await verdictOn(validator, 'unknown')).toBe('inactive');
    expect(asked()).toBe(1);
    elapse(1_100);
    await verdictOn(validator, 'unknown');
    expect(asked()).toBe(2);
  });

  it('stay cached while the endpoint is down', async () => {
    const { validator } = begin();
    const token = issuer.opaqueToken();
    const identity = await validator.validate(token);
    await issuer.crash();
    expect(validator.validate(token)).toBe(identity);
    expect(await verdictOn(validator, issuer.opaqueToken())).toBe('down: introspection');
    await issuer.recover();
    expect(await verdictOn(validator, issuer.opaqueToken())).toBe('sub: ann');
  });
});

describe('configured introspection', () => {
  const withSettings = (introspection: NonNullable<Setup['incoming']>['introspection']) =>
    begin({ incoming: { ...(introspection && { introspection }) } });

  it.each([
    ['0s', 0, 2],
    ['5s', 4_000, 1],
    ['5s', 5_000, 2],
    ['5m', 299_000, 1],
  ])('caches active answers for %s: after %i ms it has sent %i requests', async (cacheTtl, ms, times) => {
    const { validator, elapse } = withSettings({ cache_ttl: cacheTtl });
    const token = issuer.opaqueToken();
    await validator.validate(token);
    elapse(ms);
    expect(await verdictOn(validator, token)).toBe('sub: ann');
    expect(asked()).toBe(times);
  });

  const claims = (more: Claims): Claims => ({ active: true, aud: AUDIENCE, exp: now() + 600, sub: 'ann', ...more });
  it.each<[string, NonNullable<Setup['incoming']>['introspection'], Claims, string]>([
    ['accepts a missing audience if that is allowed', { allow_missing_audience: true }, { aud: undefined }, 'sub: ann'],
    [
      'rejects another audience even if a missing one is allowed',
      { allow_missing_audience: true },
      { aud: 'other' },
      'audience',
    ],
    [
      'rejects a null audience even if a missing one is allowed',
      { allow_missing_audience: true },
      { aud: null },
      'audience',
    ],
    [
      'accepts an empty list of audiences if a missing one is allowed',
      { allow_missing_audience: true },
      { aud: [] },
      'sub: ann',
    ],
    ['reads the subject from the configured claim', { subject_claim: 'username' }, { username: 'Ann' }, 'sub: Ann'],
    ['rejects an answer without the configured subject claim', { subject_claim: 'username' }, {}, 'subject'],
    ['rejects a configured subject claim that is not a string', { subject_claim: 'uid' }, { uid: 7 }, 'subject'],
  ])('%s', async (_, introspection, more, verdict) => {
    const { validator } = withSettings(introspection);
    issuer.behave = { introspection: () => ({ json: claims(more) }) };
    expect(await verdictOn(validator, 'opaque-token')).toBe(verdict);
  });

  it('does not apply to JWTs', async () => {
    const { validator } = withSettings({ allow_missing_audience: true, subject_claim: 'username' });
    expect(await verdictOn(validator, issuer.token({ username: 'Ann' }))).toBe('sub: ann');
    expect(await verdictOn(validator, issuer.token({ aud: undefined }))).toBe('audience');
  });
});

describe('the format of a token', () => {
  const members = (more: object = {}) => ({ sub: 'ann', aud: AUDIENCE, exp: now() + 600, ...more });
  const JWE = 'eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ';

  it.each([`${JWE}.a.b.c.d`, `${JWE}..b.c.d`, 'a.b.c.d.e'])('of five parts is opaque: %s', async (token) => {
    const { validator } = begin();
    issuer.behave = { introspection: () => ({ json: { active: true, ...members() } }) };
    expect(await verdictOn(validator, token)).toBe('sub: ann');
  });

  it.each([`${JWE}.a.b.c.d=`, `${JWE}.a.b.c.d.`, `${JWE}.a.b.c`])(
    'of a damaged JWE causes no request: %s',
    async (token) => {
      const { validator } = begin();
      const before = issuer.seen.length;
      expect(await verdictOn(validator, token)).toMatch(/^(malformed|encrypted)$/u);
      expect(issuer.seen.length).toBe(before);
    },
  );

  it('does not matter when all tokens are introspected', async () => {
    const { validator } = begin({ incoming: { introspection: { tokens: 'all' } } });
    const lightweight = issuer.token({ aud: undefined, sub: undefined }, { header: { typ: 'JWT' } });
    issuer.behave = { introspection: () => ({ json: { active: true, ...members({ typ: 'Bearer' }) } }) };
    expect(await verdictOn(validator, lightweight)).toBe('sub: ann');
    issuer.behave = { introspection: () => ({ json: { active: false } }) };
    expect(await verdictOn(validator, issuer.token())).toBe('inactive');
    expect(await verdictOn(validator, `${issuer.token()}=`)).toBe('malformed');
  });

  it('a JWT is never introspected', async () => {
    const { validator } = begin();
    const forged = issuer.token().replace(/.{6}$/, 'AAAAAA');
    issuer.behave = { introspection: () => ({ json: { active: true, sub: 'eve', aud: AUDIENCE, exp: now() + 600 } }) };
    expect(await verdictOn(validator, forged)).toBe('signature');
    expect(await verdictOn(validator, issuer.token({ exp: 1 }))).toBe('expired');
    expect(await verdictOn(validator, issuer.token({}, { header: { alg: 'none' } }))).toBe('algorithm');
    expect(await verdictOn(validator, 'eyJhbGciOiJSU0EtT0FFUCJ9.a.b.c.d')).toBe('encrypted');
    issuer.behave = { ...issuer.behave, jwks: 'status-500' };
    const fresh = begin();
    expect(await verdictOn(fresh.validator, issuer.token())).toBe('down: keys');
    expect(asked()).toBe(0);
  });

  it('an opaque token is never verified with keys', async () => {
    const { validator } = begin();
    for (const token of ['plain', 'a.b', 'a.b.c', `x${issuer.token()}`]) {
      expect(await verdictOn(validator, token)).toMatch(/^inactive$/);
    }
    expect(requestsFor(issuer, 'jwks')).toBe(0);
  });

  it('a JWT with characters added or removed triggers no request', async () => {
    const { validator } = begin();
    const jwt = issuer.token();
    for (const token of [`${jwt}=`, `${jwt}.`, `.${jwt}`, `${jwt}.x`, jwt.slice(0, jwt.lastIndexOf('.'))]) {
      expect(await verdictOn(validator, token)).toBe('malformed');
    }
    expect(issuer.seen).toEqual([]);
  });
});
