/**
 * The upstream provider of W8: a minimal, stateless OpenID Connect provider. Its login page is never opened:
 * the load generator builds the code, `<user>.<nonce>`, and the ID token contains both.
 */
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { announce, listen } from './child.ts';

const KID = 'stub';
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid: KID, alg: 'ES256', use: 'sig' };

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const HEADER = encoded({ alg: 'ES256', kid: KID, typ: 'JWT' });

function idToken(issuer: string, sub: string, nonce: string): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: issuer,
    aud: 'vmcp',
    sub,
    nonce,
    iat,
    exp: iat + 3_600,
    name: sub,
    email: `${sub}@example.com`,
  };
  const signed = `${HEADER}.${encoded(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function tokenReply(issuer: string, form: string): string {
  const [user = '', nonce = ''] = (/(?:^|&)code=([^&]*)/u.exec(form)?.[1] ?? '').split('.');
  return JSON.stringify({
    access_token: `upstream-${user}`,
    token_type: 'Bearer',
    expires_in: 3_600,
    refresh_token: `upstream-refresh-${nonce}`,
    id_token: idToken(issuer, user, nonce),
  });
}

const server = createServer((req, res) => {
  const issuer = `http://${req.headers.host ?? ''}`;
  const documents: Record<string, object> = {
    '/.well-known/openid-configuration': {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    },
    '/jwks': { keys: [jwk] },
  };
  let form = '';
  req.setEncoding('latin1').on('data', (text: string) => (form += text));
  req.once('end', () => {
    const document = documents[req.url ?? ''];
    const body = req.url === '/token' ? tokenReply(issuer, form) : document && JSON.stringify(document);
    const length = body === undefined ? 0 : Buffer.byteLength(body);
    res.writeHead(body === undefined ? 404 : 200, { 'Content-Type': 'application/json', 'Content-Length': length });
    res.end(body);
  });
});
server.keepAliveTimeout = 120_000;
announce([await listen(server, 0)]);
