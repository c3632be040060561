import { randomUUID, type KeyObject } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { serve } from '../../../outbound/testdata/servers.ts';
import { ASSERTION_TYPE } from '../../core/token-endpoint/client-assertion.ts';

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function newKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

export interface Assertion {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: CryptoKey | KeyObject | Uint8Array;
}

/** Starts a host with the metadata document of a client with a key, and its keys at `jwks_uri`. Stops with the test. */
export async function signingClient(audience: string, { redirectUri = 'https://client.example/cb', inline = false } = {}) {
  const first = await newKey('k1');
  const state = { keys: [first] as readonly SigningKey[], up: true, cacheControl: 'max-age=60', extra: {} as object };
  const asked: string[] = [];
  const { port } = await serve((req, res) => {
    asked.push(req.url ?? '');
    if (!state.up) return void req.socket.destroy();
    const jwks = { keys: state.keys.map(({ jwk }) => jwk) };
    res.setHeader('cache-control', state.cacheControl);
    res.setHeader('content-type', req.url === '/keys' ? 'application/jwk-set+json' : 'application/json');
    res.end(JSON.stringify(req.url === '/keys' ? jwks : { ...documentOf(), ...(inline && { jwks }), ...state.extra }));
  });
  const origin = `http://127.0.0.1:${String(port)}`;
  const clientId = `${origin}/client.json`;
  const documentOf = () => ({
    client_id: clientId,
    client_name: 'Signing client',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
    ...(!inline && { jwks_uri: `${origin}/keys` }),
  });

  /** Signs a valid assertion with these changes. */
  const sign = ({ claims = {}, header = {}, key }: Assertion = {}): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000);
    const [signer = first] = state.keys;
    const said = { iss: clientId, sub: clientId, aud: audience, iat: now, exp: now + 60, jti: randomUUID() };
    return new SignJWT({ ...said, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: signer.kid, ...header })
      .sign(key ?? signer.privateKey);
  };
  return {
    ...{ clientId, state, sign, first },
    /** Requested paths. */
    asked,
    asks: (path: string) => asked.filter((one) => one === path).length,
    /** Returns the parameters of a token request. */
    async credentials(assertion: Assertion | string = {}): Promise<Record<string, string>> {
      const token = typeof assertion === 'string' ? assertion : await sign(assertion);
      return { client_assertion: token, client_assertion_type: ASSERTION_TYPE };
    },
  };
}

export type SigningClient = Awaited<ReturnType<typeof signingClient>>;
