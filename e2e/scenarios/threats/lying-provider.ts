import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '../../harness/scope.ts';

/** An OAuth 2.0 provider that approves every login at once; a test chooses the answers of its other two endpoints. */
export interface LyingProvider {
  /** Returns its entry in `authServerConfig.upstreamProviders`. */
  entry(name: string): Readonly<Record<string, unknown>>;
  token: RequestListener;
  user: RequestListener;
  /** Path of every request, the newest last. */
  readonly asked: string[];
}

export const answerJson =
  (body: unknown, status = 200): RequestListener =>
  (_req, res) => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

/** Starts the provider on a free loopback port until the scope ends. */
export async function startLyingProvider(scope: Scope): Promise<LyingProvider> {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', 'http://provider');
    asked.push(url.pathname);
    if (url.pathname === '/token') provider.token(req, res);
    else if (url.pathname === '/user') provider.user(req, res);
    else if (url.pathname === '/authorize') res.writeHead(302, { location: callbackOf(url) }).end();
    else answerJson({ access_token: 'token-of-another-place', id: '1' })(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const provider: LyingProvider = {
    asked,
    token: answerJson({}),
    user: answerJson({}),
    entry: (name) => ({
      name,
      type: 'oauth2',
      oauth2Config: {
        authorizationEndpoint: `${origin}/authorize`,
        tokenEndpoint: `${origin}/token`,
        clientId: 'gateway',
        clientSecretRef: { name: 'chat', key: 'secret' },
        scopes: ['read'],
        userInfo: { endpointUrl: `${origin}/user`, fieldMapping: { subjectFields: ['id'] } },
      },
    }),
  };
  return provider;
}

function callbackOf({ searchParams }: URL): string {
  const url = new URL(searchParams.get('redirect_uri') ?? '');
  url.searchParams.set('state', searchParams.get('state') ?? '');
  url.searchParams.set('code', 'code-of-the-provider');
  return url.href;
}
