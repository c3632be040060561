import type { Static, TObject } from 'typebox';
import type { Problem } from '../contract/problem.ts';
import type { Variant } from '../contract/variant.ts';
import type { Authenticator, StrategyDeps } from './authenticator.ts';

/** How the credential for a backend is obtained (boundary 2). */
export interface Strategy<
  Type extends string,
  Spec extends TObject | undefined,
  Config extends TObject,
> extends Variant<Type, Spec, Config, StrategyDeps, Authenticator> {
  /** The credential is the caller's own, so that there is none for anonymous callers. */
  readonly perUser: boolean;
  /** The credential is one that a login at the embedded authorization server left behind. */
  readonly needsAuthServer?: boolean;
  /** What the schema of `config` cannot say. Paths start at the configuration of this strategy. */
  check?(config: Static<Config>): Problem[];
}

export const defineStrategy = <const Type extends string, Spec extends TObject | undefined, Config extends TObject>(
  strategy: Omit<Strategy<Type, Spec, Config>, 'supported'>,
): Strategy<Type, Spec, Config> => ({ ...strategy, supported: true });
