import { createPublicKey } from 'node:crypto';
import { createHmac } from 'node:crypto';
import { compactJws, newSigningKey, signatureBy, type SigningKey } from '../../harness/issuer-keys.ts';
import type { Claims, Issuer } from '../../harness/issuer.ts';
import { AUDIENCE, type World } from './world.ts';

/** A token that must be rejected: row of docs/threats.md, description, factory. */
export type BadToken = readonly [row: number, what: string, make: (world: World) => string];

const seconds = (): number => Math.floor(Date.now() / 1_000);
const key = (issuer: Issuer, alg: string): SigningKey => {
  const found = issuer.keys.find((each) => each.alg === alg);
  if (!found) throw new Error(`the issuer has no ${alg} key`);
  return found;
};

/** Returns the claims of a valid token. */
const goodClaims = ({ issuer }: World, claims: Claims = {}): Claims => ({
  ...{ iss: issuer.url, aud: AUDIENCE, sub: 'mallory', iat: seconds(), exp: seconds() + 600, client_id: 'x' },
  ...claims,
});
const attacker = newSigningKey('RS256', 'attacker');

const unsigned = (alg: string) => (world: World) =>
  compactJws({ alg, typ: 'JWT' }, goodClaims(world), () => Buffer.alloc(0));

/** Signs with HS256 and a public value as the secret. */
const hmac = (secretOf: (rsa: SigningKey) => string | Buffer) => (world: World) => {
  const rsa = key(world.issuer, 'RS256');
  const header = { alg: 'HS256', kid: rsa.kid, typ: 'at+jwt' };
  return compactJws(header, goodClaims(world), (input) => createHmac('sha256', secretOf(rsa)).update(input).digest());
};
const publicKey = ({ privateKey }: SigningKey) => createPublicKey(privateKey);

/** Signs with a key and a header of the attacker. */
const forged = (headerOf: (world: World) => Claims) => (world: World) =>
  compactJws({ alg: 'RS256', typ: 'at+jwt', ...headerOf(world) }, goodClaims(world), (input) =>
    signatureBy('RS256', attacker.privateKey, input),
  );
const realKid = ({ issuer }: World) => ({ kid: key(issuer, 'RS256').kid });

/** Signs with a key of the issuer, but another algorithm than that of the header or the key set. */
const swapped =
  (signed: 'RS256' | 'ES256' | 'PS256' | 'RS512', by: string, header: string, kidOf = by) =>
  ({ issuer, ...world }: World) =>
    compactJws({ alg: header, kid: key(issuer, kidOf).kid, typ: 'at+jwt' }, goodClaims({ issuer, ...world }), (input) =>
      signatureBy(signed, key(issuer, by).privateKey, input),
    );

const headed =
  (header: Claims) =>
  ({ issuer }: World) =>
    issuer.token({ sub: 'mallory' }, { header });
const claiming = (claims: Claims | ((world: World) => Claims)) => (world: World) =>
  world.issuer.token(typeof claims === 'function' ? claims(world) : claims);

/** Changes the parts of a valid token after it was signed. */
const tampered =
  (change: (header: string, payload: string, signature: string) => string) =>
  ({ issuer }: World) => {
    const [header = '', payload = '', signature = ''] = issuer.token().split('.');
    return change(header, payload, signature);
  };
const reencoded = (payload: string, claims: Claims): string =>
  Buffer.from(
    JSON.stringify({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims), ...claims }),
  ).toString('base64url');

const SIGNATURES: readonly BadToken[] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): BadToken => [36, `alg ${alg || 'empty'}`, unsigned(alg)]),
  [
    36,
    'alg none beside the signature of a good token',
    tampered(
      (_header, payload, signature) => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.${signature}`,
    ),
  ],
  [36, 'HS256 with the public key as PEM', hmac((rsa) => publicKey(rsa).export({ type: 'spki', format: 'pem' }))],
  [36, 'HS256 with the public key as DER', hmac((rsa) => publicKey(rsa).export({ type: 'spki', format: 'der' }))],
  [36, 'HS256 with the public key as JWK', hmac((rsa) => JSON.stringify(rsa.publicJwk))],
  [36, 'HS256 with the modulus', hmac((rsa) => String(rsa.publicJwk['n']))],
  [36, 'HS256 with nothing', hmac(() => '')],
  [36, 'RS256 under the header ES256', swapped('RS256', 'RS256', 'ES256')],
  [36, 'RS256 under the kid of the ES256 key', swapped('RS256', 'RS256', 'RS256', 'ES256')],
  [36, 'ES256 under the header RS256', swapped('ES256', 'ES256', 'RS256')],
  [36, 'ES256 under the kid of the RS256 key', swapped('ES256', 'ES256', 'ES256', 'RS256')],
  [36, 'PS256 by a key that is for RS256', swapped('PS256', 'RS256', 'PS256')],
  [36, 'RS512 by a key that is for RS256', swapped('RS512', 'RS256', 'RS512')],
  [36, 'crit that nobody understands', headed({ crit: ['urn:x'], 'urn:x': true })],
  [36, 'crit that names exp', headed({ crit: ['exp'], exp: 1 })],
  [36, 'crit b64', headed({ crit: ['b64'], b64: false })],
  [36, 'an empty crit', headed({ crit: [] })],
  [36, 'a foreign key in jwk', forged(() => ({ jwk: attacker.publicJwk }))],
  [36, 'a foreign key in jwk under a real kid', forged((world) => ({ ...realKid(world), jwk: attacker.publicJwk }))],
  [36, 'jku of a stranger', forged(({ stranger }) => ({ kid: attacker.kid, jku: stranger.jwksUrl }))],
  [36, 'x5u of a stranger', forged(({ stranger }) => ({ kid: attacker.kid, x5u: stranger.jwksUrl }))],
  [
    36,
    'x5c of a stranger',
    forged(() => ({
      kid: attacker.kid,
      x5c: [publicKey(attacker).export({ type: 'spki', format: 'der' }).toString('base64')],
    })),
  ],
  [36, 'a foreign signature under a real kid', forged(realKid)],
  [36, 'no signature', tampered((header, payload) => `${header}.${payload}.`)],
  [
    36,
    'half a signature',
    tampered((header, payload, signature) => `${header}.${payload}.${signature.slice(0, signature.length / 2)}`),
  ],
  [
    36,
    'another subject under the old signature',
    tampered((header, payload, signature) => `${header}.${reencoded(payload, { sub: 'root' })}.${signature}`),
  ],
  [
    36,
    'five parts',
    tampered((header, payload, signature) => `${header}.${payload}.${signature}.${payload}.${signature}`),
  ],
  [36, 'four parts', tampered((header, payload, signature) => `${header}.${payload}.${signature}.`)],
  [36, 'two parts', tampered((header, payload) => `${header}.${payload}`)],
  [36, 'padding', tampered((header, payload, signature) => `${header}.${payload}.${signature}==`)],
  [36, 'a header that is no JSON', tampered((_header, payload, signature) => `bm90LWpzb24.${payload}.${signature}`)],
  [36, 'a header that is an array', tampered((_header, payload, signature) => `W10.${payload}.${signature}`)],
  [
    36,
    'a payload that is no object',
    ({ issuer }) =>
      compactJws({ alg: 'RS256', kid: key(issuer, 'RS256').kid }, '[]', (input) =>
        signatureBy('RS256', key(issuer, 'RS256').privateKey, input),
      ),
  ],
  [36, 'alg that is a list', headed({ alg: ['RS256'] })],
];

const KIDS: readonly BadToken[] = [
  [37, 'a kid that is a path', headed({ kid: '../../../../etc/passwd' })],
  [37, 'a kid that is SQL', headed({ kid: "' OR '1'='1" })],
  [37, 'a kid that is a URL', headed({ kid: 'http://127.0.0.1:1/keys' })],
  [37, 'a kid of 10 KB', headed({ kid: 'k'.repeat(10_000) })],
  [37, 'a kid with NUL', headed({ kid: 'key-1\0' })],
  [37, 'an empty kid', headed({ kid: '' })],
  [37, 'a kid that is a number', headed({ kid: 1 })],
  [37, 'a kid of Object.prototype', headed({ kid: '__proto__' })],
  ...Array.from({ length: 20 }, (_each, index): BadToken => [
    37,
    `an unknown kid, ${String(index)}`,
    headed({ kid: `unknown-${String(index)}` }),
  ]),
];

const CLAIMS: readonly BadToken[] = [
  [38, 'no exp', claiming({ exp: undefined })],
  [38, 'exp beyond the skew', claiming(() => ({ exp: seconds() - 45 }))],
  [38, 'exp long ago', claiming({ exp: 1 })],
  [38, 'exp as text', claiming(() => ({ exp: String(seconds() + 600) }))],
  [38, 'exp null', claiming({ exp: null })],
  [38, 'exp negative', claiming({ exp: -1 })],
  [38, 'nbf in the future', claiming(() => ({ nbf: seconds() + 120 }))],
  [38, 'nbf as text', claiming({ nbf: '0' })],
  [38, 'iat in the future', claiming(() => ({ iat: seconds() + 120 }))],
  [38, 'no aud', claiming({ aud: undefined })],
  [38, 'an empty aud', claiming({ aud: [] })],
  [38, 'aud null', claiming({ aud: null })],
  [38, 'aud with a slash', claiming({ aud: `${AUDIENCE}/` })],
  [38, 'aud in capitals', claiming({ aud: AUDIENCE.toUpperCase() })],
  [38, 'aud that begins alike', claiming({ aud: AUDIENCE.slice(0, -1) })],
  [38, 'aud that goes on', claiming({ aud: `${AUDIENCE}.evil.example` })],
  [38, 'aud as an object', claiming({ aud: { [AUDIENCE]: AUDIENCE } })],
  [38, 'aud as a nested list', claiming({ aud: [[AUDIENCE]] })],
  [38, 'no iss', claiming({ iss: undefined })],
  [38, 'iss with a slash', claiming(({ issuer }) => ({ iss: `${issuer.url}/` }))],
  [38, 'iss with a blank', claiming(({ issuer }) => ({ iss: ` ${issuer.url}` }))],
  [38, 'iss in capitals', claiming(({ issuer }) => ({ iss: issuer.url.toUpperCase() }))],
  [38, 'iss of another spelling', claiming(({ issuer }) => ({ iss: issuer.url.replace('127.0.0.1', 'localhost') }))],
  [38, 'iss as a list', claiming(({ issuer }) => ({ iss: [issuer.url] }))],
  [38, 'no sub', claiming({ sub: undefined })],
  [38, 'an empty sub', claiming({ sub: '' })],
  [38, 'sub as a number', claiming({ sub: 7 })],
  [38, 'sub as a list', claiming({ sub: ['ann'] })],
  [38, 'sub as an object', claiming({ sub: { id: 'ann' } })],
  [38, 'sub null', claiming({ sub: null })],
  [38, 'sub of 256 bytes', claiming({ sub: 's'.repeat(256) })],
  [38, 'sub of 128 characters and 256 bytes', claiming({ sub: 'é'.repeat(128) })],
];

const PURPOSES: readonly BadToken[] = [
  [
    39,
    'an ID token for the client',
    ({ issuer }) => issuer.token({ aud: issuer.clientId, nonce: 'n-0S6_WzA2Mj' }, { header: { typ: 'JWT' } }),
  ],
  [
    39,
    'an ID token for the client and us',
    ({ issuer }) => issuer.token({ aud: [issuer.clientId, AUDIENCE], nonce: 'n' }, { header: { typ: 'JWT' } }),
  ],
  [
    39,
    'an ID token with at_hash',
    ({ issuer }) => issuer.token({ aud: [issuer.clientId, AUDIENCE], at_hash: 'h' }, { header: { typ: 'JWT' } }),
  ],
  [39, 'a logout token', headed({ typ: 'logout+jwt' })],
  [39, 'a DPoP proof', headed({ typ: 'dpop+jwt' })],
  [39, 'a security event', headed({ typ: 'secevent+jwt' })],
  [39, 'an identity assertion', headed({ typ: 'oauth-id-jag+jwt' })],
  [39, 'a token of an upstream provider', ({ stranger }) => stranger.token()],
  [39, 'a token of a stranger under our issuer’s name', ({ issuer, stranger }) => stranger.token({ iss: issuer.url })],
  [39, 'a token that was exchanged for a backend', ({ issuer }) => issuer.token({ aud: 'exchanged' })],
  [39, 'a token bound to a DPoP key', claiming({ cnf: { jkt: 'thumbprint' } })],
  [39, 'a token bound to a certificate', claiming({ cnf: { 'x5t#S256': 'thumbprint' } })],
];

const OPAQUE: readonly BadToken[] = [
  [39, 'an opaque token that nobody gave out', () => 'no-such-token-0123456789'],
  [
    39,
    'an opaque token that was revoked',
    ({ issuer }) => {
      const token = issuer.opaqueToken();
      issuer.revoke(token);
      return token;
    },
  ],
  [39, 'an opaque token of another server', ({ issuer }) => issuer.opaqueToken({ aud: 'https://else.example' })],
  [39, 'an opaque token without audience', ({ issuer }) => issuer.opaqueToken({ aud: undefined })],
  [39, 'an opaque token of another issuer', ({ issuer }) => issuer.opaqueToken({ iss: 'https://else.example' })],
  [39, 'an opaque token that expired', ({ issuer }) => issuer.opaqueToken({ exp: seconds() - 60 })],
  [39, 'an opaque token without subject', ({ issuer }) => issuer.opaqueToken({ sub: undefined })],
];

export const BAD_TOKENS: readonly BadToken[] = [...SIGNATURES, ...KIDS, ...CLAIMS, ...PURPOSES, ...OPAQUE];

export type GoodToken = readonly [what: string, make: (world: World) => string];

/** Tokens that must be accepted: without them the rejections above prove nothing. */
export const GOOD_TOKENS: readonly GoodToken[] = [
  ['RS256', ({ issuer }) => issuer.token()],
  ['ES256', ({ issuer }) => issuer.token({}, { key: key(issuer, 'ES256') })],
  ['without typ', headed({ typ: undefined })],
  ['typ JWT', headed({ typ: 'JWT' })],
  ['typ application/at+jwt', headed({ typ: 'application/at+jwt' })],
  ['one of several audiences', claiming({ aud: ['https://else.example', AUDIENCE] })],
  ['exp within the skew', claiming(() => ({ exp: seconds() - 10 }))],
  ['nbf and iat within the skew', claiming(() => ({ nbf: seconds() + 10, iat: seconds() + 10 }))],
  ['a subject of 255 bytes', claiming({ sub: 's'.repeat(255) })],
  [
    'jku, x5u and jwk that are not looked at',
    ({ issuer, stranger }) =>
      issuer.token({}, { header: { jku: stranger.jwksUrl, x5u: stranger.jwksUrl, jwk: attacker.publicJwk } }),
  ],
  ['opaque', ({ issuer }) => issuer.opaqueToken()],
];
