import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ALGORITHMS,
  compactJws,
  newSigningKey,
  signatureBy,
  type SigningKey,
} from '../../../e2e/harness/issuer-keys.ts';
import { startIssuer, type Claims, type Issuer } from '../../../e2e/harness/issuer.ts';
import { blockScope, testScope } from '../../../e2e/harness/scope.ts';
import { AUDIENCE, requestsFor, validatorFor, verdictOn, type UnderTest } from '../testdata/validator-under-test.ts';

const scope = blockScope();
let issuer: Issuer;
let stranger: SigningKey;
let tested: UnderTest;

beforeAll(async () => {
  issuer = await startIssuer(scope, { algorithms: ALGORITHMS, audience: AUDIENCE });
  stranger = newSigningKey('RS256', 'stranger');
});
beforeEach(() => {
  tested = validatorFor(testScope(), issuer.url, { oidc: { clientID: 'console' } });
});

const now = (): number => Math.floor(Date.now() / 1000);
const key = (alg: string): SigningKey => {
  const found = issuer.keys.find((one) => one.alg === alg);
  if (!found) throw new Error(alg);
  return found;
};
const claims = (more: Claims = {}): Claims => ({
  iss: issuer.url,
  aud: AUDIENCE,
  sub: 'ann',
  iat: now(),
  exp: now() + 600,
  ...more,
});
const publicPem = (): string =>
  createPublicKey(key('RS256').privateKey).export({ format: 'pem', type: 'spki' }).toString();

/** Signed by `alg` with the key of `alg`, whatever the header says. */
const signed = (alg: (typeof ALGORITHMS)[number], header: Claims, payload: unknown = claims()): string =>
  compactJws({ typ: 'JWT', ...header }, payload, (input) => signatureBy(alg, key(alg).privateKey, input));
const hmac = (alg: string, secret: string): string =>
  compactJws({ alg, kid: key('RS256').kid }, claims(), (input) =>
    createHmac(`sha${alg.slice(2)}`, secret)
      .update(input)
      .digest(),
  );
const unsigned = (alg: string): string => compactJws({ alg, kid: key('RS256').kid }, claims(), () => Buffer.alloc(0));
const byStranger = (header: Claims): string => issuer.token({}, { key: stranger, header });
/** A token with the header of providers that do not write `at+jwt`. */
const jwt = (more: Claims, header: Claims = { typ: 'JWT' }): string => issuer.token(more, { header });
/** Claims of an access token of Dex, which are those of an ID token from a refresh. */
const OF_DEX = { client_id: undefined, azp: 'console', nonce: 'n', at_hash: 'h', email: 'ann@a.example' };
const edited = (token: string, edit: (parts: string[]) => string[]): string => edit(token.split('.')).join('.');
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a valid JWT', () => {
  const accepted: [string, () => string][] = [
    ...ALGORITHMS.map((alg): [string, () => string] => [alg, () => issuer.token({}, { key: key(alg) })]),
    ['typ JWT', () => issuer.token({}, { header: { typ: 'JWT' } })],
    ['no typ', () => issuer.token({}, { header: { typ: undefined } })],
    ['a typ with the prefix of a media type', () => issuer.token({}, { header: { typ: 'application/at+jwt' } })],
    ['the audience in a list with others', () => issuer.token({ aud: ['other', AUDIENCE] })],
    ['exp in the past within the skew', () => issuer.token({ exp: now() - 20 })],
    ['nbf and iat in the future within the skew', () => issuer.token({ nbf: now() + 20, iat: now() + 20 })],
    ['a subject of 255 bytes', () => issuer.token({ sub: 'x'.repeat(255) })],
    ['a foreign jku and a valid signature', () => issuer.token({}, { header: { jku: 'http://evil.example/' } })],
    ['a nonce when the audience is not the client id', () => issuer.token({ nonce: 'n' })],
    ['an access token of Dex', () => jwt({ ...OF_DEX, aud: [AUDIENCE, 'console'] }, { typ: undefined })],
    ['an access token of Dex for its client', () => jwt(OF_DEX, { typ: undefined })],
    ['an access token of Keycloak', () => jwt({ typ: 'Bearer', azp: 'console', acr: '1', sid: 's', scope: 'openid' })],
    ['an access token of Keycloak 23', () => jwt({ typ: 'Bearer', aud: ['console', AUDIENCE], nonce: 'n' })],
    ['an access token of Spring', () => jwt({ scope: ['openid'], nbf: now() }, { typ: undefined })],
    ['an access token of Cognito', () => jwt({ token_use: 'access', scope: 'openid' }, { typ: undefined })],
    ['a nonce beside a scope', () => jwt({ nonce: 'n', scope: 'openid' })],
    ['at+jwt with a nonce and at_hash', () => issuer.token({ aud: ['console', AUDIENCE], nonce: 'n', at_hash: 'h' })],
    ['a fractional exp', () => issuer.token({ exp: now() + 600.5 })],
    ['a cnf claim without a key', () => issuer.token({ cnf: {} })],
    [
      '__proto__ among the claims',
      () =>
        signed(
          'RS256',
          { alg: 'RS256', kid: key('RS256').kid },
          `{"__proto__":{"sub":"eve"},${JSON.stringify(claims()).slice(1)}`,
        ),
    ],
  ];
  it.each(accepted)('is accepted with %s', async (_, token) => {
    expect(await verdictOn(tested.validator, token())).toMatch(/^sub: (ann|x+)$/);
  });
});

describe('an invalid JWT', () => {
  const kid = (): string => key('RS256').kid;
  const refused: Record<string, [string, () => string][]> = {
    algorithm: [
      ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): [string, () => string] => [
        `alg "${alg}"`,
        () => unsigned(alg),
      ]),
      ['alg none over a right signature', () => signed('RS256', { alg: 'none', kid: kid() })],
      ['HS256 with the public key in PEM', () => hmac('HS256', publicPem())],
      ['HS256 with the public key without its last line break', () => hmac('HS256', publicPem().trim())],
      ['HS256 with the modulus', () => hmac('HS256', String(key('RS256').publicJwk['n']))],
      ['HS384', () => hmac('HS384', publicPem())],
      ['HS512', () => hmac('HS512', publicPem())],
      ['ES256K', () => signed('ES256', { alg: 'ES256K', kid: key('ES256').kid })],
      ['rs256 in lower case', () => signed('RS256', { alg: 'rs256', kid: kid() })],
      ['RSA-OAEP', () => signed('RS256', { alg: 'RSA-OAEP', kid: kid() })],
      ['a name of Object.prototype', () => signed('RS256', { alg: 'constructor', kid: kid() })],
    ],
    kid: [
      ['RS256 key under PS256', () => signed('PS256', { alg: 'PS256', kid: kid() })],
      ['RS256 key under ES256', () => signed('ES256', { alg: 'ES256', kid: kid() })],
      ['ES256 key under RS256', () => signed('RS256', { alg: 'RS256', kid: key('ES256').kid })],
      ['ES256 key under ES384', () => signed('ES384', { alg: 'ES384', kid: key('ES256').kid })],
      ['RS256 key under RS512', () => signed('RS512', { alg: 'RS512', kid: kid() })],
      ['EdDSA key under ES256', () => signed('ES256', { alg: 'ES256', kid: key('EdDSA').kid })],
      ['unknown', () => byStranger({})],
      ['path', () => byStranger({ kid: '../../../../dev/null' })],
      ['SQL', () => byStranger({ kid: "' UNION SELECT 'key' --" })],
      ['empty', () => byStranger({ kid: '' })],
      ['10 KB', () => byStranger({ kid: 'k'.repeat(10_240) })],
      ['number', () => byStranger({ kid: 1 })],
      ['null', () => byStranger({ kid: null })],
      ['object', () => byStranger({ kid: {} })],
      ['embedded jwk', () => byStranger({ jwk: stranger.publicJwk })],
      ['jku of the attacker', () => byStranger({ jku: 'http://127.0.0.1:1/jwks' })],
    ],
    signature: [
      ['foreign key under a known kid', () => byStranger({ kid: kid() })],
      ['embedded jwk under a known kid', () => byStranger({ kid: kid(), jwk: stranger.publicJwk })],
      ['jku of the attacker under a known kid', () => byStranger({ kid: kid(), jku: 'http://127.0.0.1:1/jwks' })],
      [
        'x5c and x5u under a known kid',
        () => byStranger({ kid: kid(), x5u: 'http://127.0.0.1:1/', x5c: [stranger.publicJwk['n']] }),
      ],
      ['no signature', () => edited(issuer.token(), ([h = '', p = '']) => [h, p, ''])],
      ['truncated signature', () => edited(issuer.token(), ([h = '', p = '', s = '']) => [h, p, s.slice(0, -8)])],
      ['longer signature', () => edited(issuer.token(), ([h = '', p = '', s = '']) => [h, p, `${s}AAAA`])],
      [
        'signature of another token',
        () => edited(issuer.token(), ([h = '', p = '']) => [h, p, issuer.token({ sub: 'bob' }).split('.')[2] ?? '']),
      ],
      [
        'another subject under the signature',
        () => edited(issuer.token(), ([h = '', , s = '']) => [h, part(claims({ sub: 'admin' })), s]),
      ],
      [
        'another header over the signature',
        () => edited(issuer.token(), ([, p = '', s = '']) => [part({ alg: 'RS256', kid: kid() }), p, s]),
      ],
      [
        'ECDSA signature of zeros',
        () => compactJws({ alg: 'ES256', kid: key('ES256').kid }, claims(), () => Buffer.alloc(64)),
      ],
      [
        'ECDSA signature in DER',
        () => compactJws({ alg: 'ES256', kid: key('ES256').kid }, claims(), () => Buffer.alloc(71, 48)),
      ],
    ],
    critical_header: [
      ['unknown', () => issuer.token({}, { header: { crit: ['exp2'], exp2: 1 } })],
      ['b64', () => issuer.token({}, { header: { crit: ['b64'], b64: false } })],
      ['empty', () => issuer.token({}, { header: { crit: [] } })],
      ['null', () => issuer.token({}, { header: { crit: null } })],
    ],
    token_type: [
      ...[
        'logout+jwt',
        'LOGOUT+JWT',
        'application/dpop+jwt',
        'secevent+jwt',
        'oauth-id-jag+jwt',
        'rt+jwt',
        'Refresh',
      ].map((typ): [string, () => string] => [typ, () => issuer.token({}, { header: { typ } })]),
      ...[
        { typ: 'Refresh' },
        { typ: 'Offline' },
        { typ: 'Logout' },
        { token_use: 'refresh' },
        { token_type: 'refresh' },
      ].map((more): [string, () => string] => [JSON.stringify(more), () => issuer.token(more)]),
    ],
    issuer: [
      ['with a slash', () => issuer.token({ iss: `${issuer.url}/` })],
      ['in another case', () => issuer.token({ iss: issuer.url.replace('http', 'HTTP') })],
      ['with a blank', () => issuer.token({ iss: ` ${issuer.url}` })],
      ['missing', () => issuer.token({ iss: undefined })],
      ['another issuer', () => issuer.token({ iss: 'https://evil.example' })],
      ['list', () => issuer.token({ iss: [issuer.url] })],
    ],
    audience: [
      ['missing', () => issuer.token({ aud: undefined })],
      ['null', () => issuer.token({ aud: null })],
      ['of another server', () => issuer.token({ aud: 'https://a.example/mcp' })],
      ['longer', () => issuer.token({ aud: `${AUDIENCE}2` })],
      ['in capitals', () => issuer.token({ aud: AUDIENCE.toUpperCase() })],
      ['empty list', () => issuer.token({ aud: [] })],
      ['list in a list', () => issuer.token({ aud: [[AUDIENCE]] })],
      ['object', () => issuer.token({ aud: { 0: AUDIENCE } })],
      ['ID token of the client', () => issuer.token({ aud: 'console', nonce: 'n' })],
    ],
    id_token: [
      ['nonce', () => jwt({ aud: ['console', AUDIENCE], nonce: 'n' })],
      ['at_hash', () => jwt({ aud: ['console', AUDIENCE], at_hash: 'h' })],
      ['nonce at the client whose id is the audience', () => jwt({ nonce: 'n', azp: AUDIENCE, sid: 's' })],
      ['at_hash without a client', () => jwt({ at_hash: 'h', client_id: undefined })],
      ['nonce without a typ', () => jwt({ nonce: 'n' }, { typ: undefined })],
      ['c_hash without a typ', () => jwt({ nonce: 'n', at_hash: 'h', c_hash: 'c' }, { typ: undefined })],
      ['s_hash', () => jwt({ s_hash: 's' })],
      ['typ ID', () => jwt({ typ: 'ID' })],
      ['typ ID under at+jwt', () => issuer.token({ typ: 'ID' })],
      ['token_use id', () => jwt({ token_use: 'id' })],
      ['token_use id_token', () => jwt({ token_use: 'id_token' })],
    ],
    expired: [
      ['without exp', () => issuer.token({ exp: undefined })],
      ['past the skew', () => issuer.token({ exp: now() - 31 })],
      ['zero', () => issuer.token({ exp: 0 })],
      ['long ago', () => issuer.token({ exp: -1e300 })],
    ],
    not_yet_valid: [
      ['nbf in the future', () => issuer.token({ nbf: now() + 40 })],
      ['iat in the future', () => issuer.token({ iat: now() + 40 })],
    ],
    malformed: [
      ['padding', () => `${issuer.token()}=`],
      ['standard base64', () => edited(issuer.token(), ([h = '', p = '']) => [h, p, 'a+/b'])],
      ['four parts', () => `${issuer.token()}.AAAA`],
      ['two parts', () => issuer.token().split('.').slice(0, 2).join('.')],
      ['exp as text', () => issuer.token({ exp: String(now() + 600) })],
      ['exp null', () => issuer.token({ exp: null })],
      [
        'infinite exp',
        () =>
          signed('RS256', { alg: 'RS256', kid: kid() }, JSON.stringify(claims({ exp: 'E' })).replace('"E"', '1e999')),
      ],
      ['nbf as text', () => issuer.token({ nbf: '0' })],
      ['iat as list', () => issuer.token({ iat: [0] })],
      ['cnf as text', () => issuer.token({ cnf: 'x' })],
      ['client_id as number', () => issuer.token({ client_id: 7 })],
      ['typ as number', () => issuer.token({}, { header: { typ: 7 } })],
      ['payload is a list', () => signed('RS256', { alg: 'RS256', kid: kid() }, [claims()])],
      ['payload is text', () => signed('RS256', { alg: 'RS256', kid: kid() }, '"ann"')],
      ['payload is no JSON', () => signed('RS256', { alg: 'RS256', kid: kid() }, '{"sub":')],
      ['payload is empty', () => signed('RS256', { alg: 'RS256', kid: kid() }, '')],
    ],
    subject: [
      ['missing', () => issuer.token({ sub: undefined })],
      ['number', () => issuer.token({ sub: 42 })],
      ['empty', () => issuer.token({ sub: '' })],
      ['null', () => issuer.token({ sub: null })],
      ['list', () => issuer.token({ sub: ['ann'] })],
      ['256 bytes', () => issuer.token({ sub: 'x'.repeat(256) })],
      ['256 bytes in 128 characters', () => issuer.token({ sub: 'é'.repeat(128) })],
    ],
    sender_constrained: [
      ['DPoP', () => issuer.token({ cnf: { jkt: 'thumbprint' } })],
      ['certificate', () => issuer.token({ cnf: { 'x5t#S256': 'thumbprint' } })],
    ],
    encrypted: [['five parts', () => 'eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d']],
    opaque: [
      ['header without alg', () => issuer.token({}, { header: { alg: undefined } })],
      ['alg as number', () => issuer.token({}, { header: { alg: 256 } })],
      ['header is a list', () => edited(issuer.token(), ([, p = '', s = '']) => [part(['RS256']), p, s])],
    ],
  };
  const rows = Object.entries(refused).flatMap(([reason, each]) =>
    each.map(([name, token]) => ({ reason, name, token })),
  );

  it.each(rows)('is rejected with reason $reason: $name', async ({ reason, token }) => {
    expect(await verdictOn(tested.validator, token())).toBe(reason);
  });

  it('is tested in more than 60 cases', () => {
    expect(rows.length).toBeGreaterThan(60);
  });
});

describe('key URLs in a token header', () => {
  it('are never fetched', async () => {
    let asked = 0;
    const attacker = createServer((_, res) => {
      asked += 1;
      res.end(JSON.stringify({ keys: [stranger.publicJwk] }));
    });
    await new Promise<void>((resolve) => attacker.listen(0, '127.0.0.1', resolve));
    testScope().defer(() => attacker.close());
    const address = attacker.address();
    const url = `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}/`;
    const token = byStranger({ jku: url, x5u: url });
    expect(await verdictOn(tested.validator, token)).toBe('kid');
    expect(asked).toBe(0);
  });
});

describe('token verification', () => {
  it('rejects invalid tokens without a request for keys', async () => {
    const before = requestsFor(issuer, 'jwks');
    for (const token of [unsigned('none'), issuer.token({ aud: 'x' }), issuer.token({ exp: 1 }), 'opaque', 'a.b.c'])
      await verdictOn(tested.validator, token);
    expect(requestsFor(issuer, 'jwks')).toBe(before);
  });

  it('returns the identity of a verified token synchronously', async () => {
    const token = issuer.token({ scope: 'read write', tsid: 'login-1', groups: ['a'] });
    const identity = await tested.validator.validate(token);
    expect(tested.validator.validate(token)).toBe(identity);
    expect(identity).toMatchObject({ subject: 'ann', issuer: issuer.url, clientId: 'test-client', tsid: 'login-1' });
    expect([...identity.scopes]).toEqual(['read', 'write']);
    expect(identity.claims).toMatchObject({ groups: ['a'] });
    expect(identity.claims).not.toHaveProperty('tsid');
    expect(JSON.stringify(identity)).not.toContain(token);
    expect(identity.token.reveal()).toBe(token);
  });

  it('rejects another token with the signature of a cached one', async () => {
    const token = issuer.token();
    await tested.validator.validate(token);
    const forged = edited(token, ([h = '', , sig = '']) => [h, part(claims({ sub: 'admin' })), sig]);
    expect(await verdictOn(tested.validator, forged)).toBe('signature');
    expect(await verdictOn(tested.validator, token)).toBe('sub: ann');
  });

  it('caches a token for 60 s at most, and not beyond its expiry', async () => {
    const short = issuer.token({ exp: now() + 5 });
    const long = issuer.token();
    const [first, second] = [await tested.validator.validate(short), await tested.validator.validate(long)];
    tested.elapse(6_000);
    expect(tested.validator.validate(short)).toBeInstanceOf(Promise); // still valid within the skew, but no longer cached
    expect(tested.validator.validate(long)).toBe(second);
    tested.elapse(55_000);
    expect(await tested.validator.validate(long)).not.toBe(second);
    expect(await verdictOn(tested.validator, short)).toBe('expired');
    expect(first.subject).toBe('ann');
  });
});

describe('the configuration', () => {
  it('rejects tokens of other clients when require_client_id is set', async () => {
    const strict = validatorFor(testScope(), issuer.url, {
      oidc: { clientID: 'console' },
      incoming: { require_client_id: true },
    });
    expect(await verdictOn(strict.validator, issuer.token({ client_id: 'console' }))).toBe('sub: ann');
    expect(await verdictOn(strict.validator, issuer.token({ client_id: undefined, azp: 'console' }))).toBe('sub: ann');
    expect(await verdictOn(strict.validator, issuer.token({ client_id: 'other', azp: 'console' }))).toBe('client');
    expect(await verdictOn(strict.validator, issuer.token({ client_id: undefined }))).toBe('client');
  });

  it('sets the clock skew', async () => {
    const strict = validatorFor(testScope(), issuer.url, { incoming: { clock_skew_seconds: 0 } });
    expect(await verdictOn(strict.validator, issuer.token({ exp: now() - 2 }))).toBe('expired');
    const lax = validatorFor(testScope(), issuer.url, { incoming: { clock_skew_seconds: 300 } });
    expect(await verdictOn(lax.validator, issuer.token({ exp: now() - 280 }))).toBe('sub: ann');
  });

  it('accepts at+jwt with a nonce when the audience is the client id', async () => {
    const own = validatorFor(testScope(), issuer.url, { oidc: { clientID: AUDIENCE } });
    expect(await verdictOn(own.validator, issuer.token({ nonce: 'n' }))).toBe('sub: ann');
  });

  it.each([
    ['audience', { audience: '' }, {}],
    ['issuer', { issuer: '' }, {}],
    ['clientID', {}, { require_client_id: true }],
  ])('is rejected without %s', (name, oidc, incoming) => {
    expect(() => validatorFor(testScope(), issuer.url, { oidc, incoming })).toThrow(name);
  });
});

describe('a key set', () => {
  const rsa = (modulusLength: number) =>
    generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });

  it('verifies a token without kid only if exactly one key fits', async () => {
    const one = await startIssuer(testScope(), { algorithms: ['RS256'], audience: AUDIENCE });
    const { validator } = validatorFor(testScope(), one.url);
    expect(await verdictOn(validator, one.token({}, { header: { kid: undefined } }))).toBe('sub: ann');
    const two = await startIssuer(testScope(), { algorithms: ['RS256', 'RS256'], audience: AUDIENCE });
    const other = validatorFor(testScope(), two.url);
    expect(await verdictOn(other.validator, two.token({}, { header: { kid: undefined } }))).toBe('kid');
  });

  it('verifies a token with any of several keys that share its kid', async () => {
    const one = await startIssuer(testScope(), { algorithms: ['RS256'], audience: AUDIENCE });
    const own = one.keys[0]?.publicJwk;
    one.behave = { jwks: () => ({ json: { keys: [{ ...rsa(2048), kid: own?.['kid'] }, own] } }) };
    const { validator } = validatorFor(testScope(), one.url);
    expect(await verdictOn(validator, one.token())).toBe('sub: ann');
    expect(await verdictOn(validator, one.token({}, { key: stranger, header: { kid: own?.['kid'] } }))).toBe(
      'signature',
    );
  });

  it('ignores keys that are unsuitable for signatures', async () => {
    const one = await startIssuer(testScope(), { algorithms: ['RS256'], audience: AUDIENCE });
    const own = one.keys[0]?.publicJwk;
    const useless = [
      { kty: 'oct', k: 'c2VjcmV0', kid: 'oct', alg: 'HS256' },
      { ...rsa(1024), kid: 'weak' },
      { ...stranger.publicJwk, kid: 'enc', use: 'enc' },
      { ...stranger.privateKey.export({ format: 'jwk' }), kid: 'private', alg: 'RS256' },
      { kty: 'RSA', n: 'AQAB', kid: 'broken' },
      { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'off the curve' },
      { kty: 'new', kid: 'future' },
      null,
      'text',
    ];
    one.behave = { jwks: () => ({ json: { keys: [...useless, own] } }) };
    const { validator } = validatorFor(testScope(), one.url);
    expect(await verdictOn(validator, one.token())).toBe('sub: ann');
    for (const kid of ['enc', 'private'])
      expect(await verdictOn(validator, one.token({}, { key: stranger, header: { kid } }))).toBe('kid');
  });
});
