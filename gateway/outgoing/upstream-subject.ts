import type { Identity } from '../contract/identity.ts';
import { problem, type Problem } from '../contract/problem.ts';
import type { VariantScope } from '../contract/variant.ts';
import { CredentialError, type StrategyDeps } from './authenticator.ts';
import type { UpstreamToken, UpstreamTokenNeed } from './upstream-tokens.ts';

/** Lists the problem of an unknown upstream provider. */
export function unknownProviderProblem(name: string, path: string, { upstreams }: VariantScope): Problem {
  const known = [...upstreams].toSorted();
  const advice =
    known.length === 0
      ? 'add it to authServerConfig.upstreamProviders of the VirtualMCPServer'
      : `use ${known.map((each) => `"${each}"`).join(' or ')}`;
  return problem('UpstreamProviderUnknown', path, `there is no upstream provider "${name}": ${advice}`);
}

/** Returns the user. Throws `CredentialError` for an anonymous client. */
export function requireCaller(caller: Identity | undefined, { backend }: StrategyDeps): Identity {
  if (caller) return caller;
  const message = `backend "${backend}" takes a credential of the caller's own, and the caller is anonymous`;
  throw new CredentialError('misconfigured', message);
}

/** Returns the user's stored token of a provider. Throws or rejects with `CredentialError`. */
export function getUpstreamToken(
  caller: Identity | undefined,
  provider: string,
  deps: StrategyDeps,
  need?: UpstreamTokenNeed,
): UpstreamToken | Promise<UpstreamToken> {
  const { tsid, subject, clientId } = requireCaller(caller, deps);
  if (!deps.upstreamTokens) {
    const message = `there are no upstream tokens here, and backend "${deps.backend}" needs those of provider "${provider}"`;
    throw new CredentialError('misconfigured', message);
  }
  if (tsid === undefined) {
    const message = `the caller's token comes from no login, so that nothing of provider "${provider}" is stored with it`;
    throw new CredentialError('reauthenticate', message, provider);
  }
  return deps.upstreamTokens.get({ tsid, subject, clientId }, provider, need);
}
