import type { TObject } from 'typebox';
import type { Declaration, Variant } from '../contract/variant.ts';

/** Puts the credential for one backend on the headers of one request. A throw fails the request, never the backend. */
export type Authenticate = (headers: Map<string, string>) => void | Promise<void>;

/** A strategy that resources may already name; its act follows with `defineStrategy`. */
export const declareStrategy = <const Type extends string, Spec extends TObject | undefined>(
  strategy: Omit<Declaration<Type, Spec>, 'supported'>,
): Declaration<Type, Spec, false> => ({ ...strategy, supported: false });

/** How the credential for a backend is obtained (boundary 2). */
export const defineStrategy = <
  const Type extends string,
  Spec extends TObject | undefined,
  Config extends TObject,
  Deps,
>(
  strategy: Omit<Variant<Type, Spec, Config, Deps, Authenticate>, 'supported'>,
): Variant<Type, Spec, Config, Deps, Authenticate> => ({ ...strategy, supported: true });
