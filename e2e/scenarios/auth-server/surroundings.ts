import { startIdentityProvider, type IdentityProvider } from '../../harness/identity-provider.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { startOAuth2Provider, type OAuth2Provider } from '../../harness/oauth2-provider.ts';
import type { Scope } from '../../harness/scope.ts';
import { bearerOf, startCredentialBackend, type CredentialBackend } from '../credential-backend.ts';

export type BackendName = 'files' | 'posts' | 'vault';

/** Providers and backends of a gateway with an embedded authorization server. */
export interface Surroundings {
  /** OpenID provider that gives the identity; its token is for `files`. */
  readonly corp: IdentityProvider;
  readonly corpClient: { readonly id: string; readonly secret: string };
  /** OAuth 2.0 provider; its token is for `posts`. */
  readonly chat: OAuth2Provider;
  /** Token exchange (RFC 8693) of gateway tokens for tokens for `vault`. */
  readonly exchanger: Issuer;
  readonly backends: Readonly<Record<BackendName, CredentialBackend>>;
}

/** Starts the surroundings of a gateway with this `issuer`. Backends answer 401 without a bearer token. */
export async function startSurroundings(scope: Scope, issuer: string): Promise<Surroundings> {
  const [corp, chat, exchanger] = await Promise.all([
    startIdentityProvider(scope),
    startOAuth2Provider(scope),
    startIssuer(scope),
  ]);
  exchanger.trustedKeySets.push(`${issuer}/.well-known/jwks.json`);
  const backends = {
    files: await startCredentialBackend(scope, 'files'),
    posts: await startCredentialBackend(scope, 'posts'),
    vault: await startCredentialBackend(scope, 'vault'),
  };
  for (const backend of Object.values(backends)) backend.refuses = (headers) => bearerOf(headers) === undefined;
  return { corp, corpClient: await registerAt(corp, issuer), chat, exchanger, backends };
}

/** Registers the gateway at a provider. */
async function registerAt({ issuer: provider }: IdentityProvider, issuer: string): Promise<Surroundings['corpClient']> {
  const answer = await fetch(`${provider}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'the gateway',
      redirect_uris: [`${issuer}/oauth/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
    }),
  });
  const { client_id: id, client_secret: secret } = (await answer.json()) as Record<string, string>;
  if (id === undefined || secret === undefined) throw new Error(`no client at ${provider}`);
  return { id, secret };
}

/** Returns the bearer token of the last tool call at a backend. */
export const credentialAt = (backend: CredentialBackend): string | undefined => {
  const call = backend.seen.findLast(({ method }) => method === 'tools/call');
  return call && bearerOf(call.headers);
};
