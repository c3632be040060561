import { startIdentityProvider, type IdentityProvider } from '../../harness/identity-provider.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { startOAuth2Provider, type OAuth2Provider } from '../../harness/oauth2-provider.ts';
import type { Scope } from '../../harness/scope.ts';
import { bearerOf, startCredentialBackend, type CredentialBackend } from '../credential-backend.ts';

export type BackendName = 'files' | 'posts' | 'vault';

/** Everything around a gateway with an embedded authorization server. */
export interface Surroundings {
  /** OpenID provider, the identity; its token goes to `files`. */
  readonly corp: IdentityProvider;
  readonly corpClient: { readonly id: string; readonly secret: string };
  /** Plain OAuth 2.0; its token goes to `posts`. */
  readonly chat: OAuth2Provider;
  /** RFC 8693: takes tokens of the gateway and gives those for `vault`. */
  readonly exchanger: Issuer;
  readonly backends: Readonly<Record<BackendName, CredentialBackend>>;
}

/** Starts it for a gateway that calls itself `issuer`. Backends answer 401 to whoever brings no bearer token. */
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

/** As an operator does it once at the provider. */
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

/** The bearer token of the latest tool call that reached a backend. */
export const credentialAt = (backend: CredentialBackend): string | undefined => {
  const call = backend.seen.findLast(({ method }) => method === 'tools/call');
  return call && bearerOf(call.headers);
};
