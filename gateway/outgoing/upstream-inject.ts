import { Type } from 'typebox';
import { Closed, DnsLabel } from '../contract/fields.ts';
import { Secret, type Identity } from '../contract/identity.ts';
import { text } from '../contract/optional.ts';
import { CredentialError, type Authenticator, type CredentialHeaders, type StrategyDeps } from './authenticator.ts';
import { bearerHeaders, bearerTokenIn, placedIn, placementProblems } from './credential-header.ts';
import { defineStrategy } from './strategy.ts';
import { unknownProviderProblem, getUpstreamToken } from './upstream-subject.ts';
import type { UpstreamToken } from './upstream-tokens.ts';

const config = Closed({
  provider_name: Type.String({ minLength: 1, description: 'Upstream provider.' }),
  header_strategy: Type.Optional(
    Type.Enum(['replace', 'custom'], { default: 'replace', description: '`replace` is Authorization.' }),
  ),
  custom_header_name: text('Header that carries the token when the strategy is `custom`.', { minLength: 1 }),
});

/** Sends the upstream token that was stored at login. */
export const upstreamInject = defineStrategy({
  type: 'upstreamInject',
  description: 'The user’s upstream token, stored at login, replaces the token of the client.',
  perUser: true,
  needsAuthServer: true,
  spec: Closed(
    { providerName: DnsLabel('Name in `authServerConfig.upstreamProviders` of the VirtualMCPServer.') },
    { description: 'Set when `type` is `upstreamInject`.' },
  ),
  config,
  resolve({ providerName }, scope) {
    if (!scope.upstreams.has(providerName)) scope.problem(unknownProviderProblem(providerName, 'providerName', scope));
    return { provider_name: providerName };
  },
  check: ({ header_strategy, custom_header_name }) =>
    placementProblems({ header_strategy, custom_name: custom_header_name }, 'custom_header_name'),
  create: ({ provider_name, header_strategy, custom_header_name }, deps) =>
    injector(provider_name, placedIn({ header_strategy, custom_name: custom_header_name }), deps),
});

function injector(provider: string, header: string, deps: StrategyDeps): Authenticator {
  /** Caches the headers of each token. */
  const headersOf = new WeakMap<Secret, CredentialHeaders>();
  /** Last token that the backend rejected, by user, until the store has another one. */
  const refusedOf = new WeakMap<Identity, Secret>();

  const toHeaders = ({ accessToken }: UpstreamToken): CredentialHeaders => {
    const known = headersOf.get(accessToken);
    if (known) return known;
    const headers = bearerHeaders(header, accessToken.reveal());
    if (!headers) {
      const message = `the token of provider "${provider}" holds a character that no header may hold`;
      throw new CredentialError('reauthenticate', message, provider);
    }
    headersOf.set(accessToken, headers);
    return headers;
  };

  const headersFor = (caller: Identity | undefined, token: UpstreamToken): CredentialHeaders => {
    if (caller && refusedOf.get(caller)?.reveal() !== token.accessToken.reveal()) refusedOf.delete(caller);
    return toHeaders(token);
  };

  return {
    perUser: true,
    provider,
    headers(caller) {
      const refused = caller && refusedOf.get(caller);
      const token = getUpstreamToken(caller, provider, deps, refused && { refused });
      return token instanceof Promise ? token.then((late) => headersFor(caller, late)) : headersFor(caller, token);
    },
    refused(caller, sent) {
      const token = bearerTokenIn(sent, header);
      if (!caller || token === undefined) return false;
      refusedOf.set(caller, new Secret(token));
      return true;
    },
  };
}
