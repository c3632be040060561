import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { compactJws, newSigningKey, signatureBy, type SigningKey } from '../../../../e2e/harness/issuer-keys.ts';

export interface ProviderRequest {
  readonly endpoint: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

/** Writes the reply to one request, or never replies. */
export type Answer = (res: ServerResponse, request: ProviderRequest) => unknown;

export type Claims = Readonly<Record<string, unknown>>;

/** Provider on a loopback port with scripted replies. Stops with the test. */
export interface ScriptedProvider {
  readonly issuer: string;
  readonly url: (endpoint: string) => string;
  readonly seen: ProviderRequest[];
  /** Replies by the last part of the path; 404 for missing ones. */
  readonly answers: Record<string, Answer>;
  readonly key: SigningKey;
  /** Returns a signed ID token; an undefined claim is left out. */
  idToken(claims?: Claims, options?: { readonly key?: SigningKey; readonly header?: Claims }): string;
  /** Returns the requests to one endpoint. */
  to(endpoint: string): ProviderRequest[];
  /** Stops listening; `start` listens again on the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export const CLIENT_ID = 'vmcp-client';
export const SECRETS = { state: 'state-of-this-leg', codeVerifier: 'v'.repeat(43), nonce: 'nonce-of-this-leg' };

export const json =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer =>
  (res) =>
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

export const raw =
  (status: number, headers: Readonly<Record<string, string>>, body: string | Buffer = ''): Answer =>
  (res) =>
    res.writeHead(status, headers).end(body);

export const never: Answer = () => undefined;

const seconds = () => Math.floor(Date.now() / 1_000);

export async function scriptedProvider(): Promise<ScriptedProvider> {
  const seen: ProviderRequest[] = [];
  const answers: Record<string, Answer> = {};
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const endpoint = new URL(req.url ?? '/', 'http://x').pathname.split('/').at(-1) ?? '';
      const request = { endpoint, method: req.method ?? '', headers: req.headers, form: new URLSearchParams(body) };
      seen.push(request);
      return (answers[endpoint] ?? raw(404, {}, 'no such endpoint'))(res, request);
    });
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => (server.listening ? stop() : undefined));
  const issuer = `http://127.0.0.1:${String(port)}`;
  const key = newSigningKey('ES256', 'key-1');
  const idToken: ScriptedProvider['idToken'] = (claims = {}, { key: by = key, header = {} } = {}) => {
    const now = seconds();
    const usual = { iss: issuer, aud: CLIENT_ID, sub: 'ann', nonce: SECRETS.nonce, iat: now, exp: now + 600 };
    return compactJws({ alg: by.alg, kid: by.kid, ...header }, { ...usual, ...claims }, (input) =>
      signatureBy(by.alg, by.privateKey, input),
    );
  };
  return {
    issuer,
    url: (endpoint) => `${issuer}/${endpoint}`,
    seen,
    answers,
    key,
    idToken,
    to: (endpoint) => seen.filter((request) => request.endpoint === endpoint),
    stop,
    start: () => listen(port),
  };
}

/** Returns valid metadata of `scriptedProvider` (OpenID Connect Discovery). */
export const metadataOf = ({ issuer, url }: ScriptedProvider, more: Claims = {}): Claims => ({
  issuer,
  authorization_endpoint: url('authorize'),
  token_endpoint: url('token'),
  jwks_uri: url('jwks'),
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256', 'RS256'],
  ...more,
});

/** Starts a conforming OpenID provider. */
export async function openidProvider(more: Claims = {}): Promise<ScriptedProvider> {
  const provider = await scriptedProvider();
  provider.answers['openid-configuration'] = (res, request) => json(metadataOf(provider, more))(res, request);
  provider.answers['jwks'] = json({ keys: [provider.key.publicJwk] });
  provider.answers['token'] = (res, request) =>
    json({
      access_token: 'access-1',
      token_type: 'Bearer',
      expires_in: 3_600,
      refresh_token: 'refresh-1',
      id_token: provider.idToken(),
    })(res, request);
  return provider;
}
