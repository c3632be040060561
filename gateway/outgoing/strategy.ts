import type { Static, TObject } from 'typebox';
import type { Problem } from '../contract/problem.ts';
import type { Variant } from '../contract/variant.ts';
import type { Authenticator, StrategyDeps } from './authenticator.ts';

/** Obtains the credential for a backend (boundary 2). */
export interface Strategy<
  Type extends string,
  Spec extends TObject | undefined,
  Config extends TObject,
> extends Variant<Type, Spec, Config, StrategyDeps, Authenticator> {
  /** True when the credential belongs to the user; anonymous clients have none. */
  readonly perUser: boolean;
  /** True when the credential comes from a login at the embedded authorization server. */
  readonly needsAuthServer?: boolean;
  /** True when each request is signed, which only the transport streamable-http can. */
  readonly signs?: boolean;
  /** Lists problems that the schema of `config` cannot find. Paths start at the configuration of this strategy. */
  check?(config: Static<Config>): Problem[];
}

export const defineStrategy = <const Type extends string, Spec extends TObject | undefined, Config extends TObject>(
  strategy: Omit<Strategy<Type, Spec, Config>, 'supported'>,
): Strategy<Type, Spec, Config> => ({ ...strategy, supported: true });
