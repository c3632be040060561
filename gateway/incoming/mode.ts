import type { TObject } from 'typebox';
import type { Declaration } from '../contract/variant.ts';

/** A mode, or a source of tokens, as resources name it. */
export const declareIncoming = <
  const Type extends string,
  Spec extends TObject | undefined,
  const Supported extends boolean,
>(
  mode: Declaration<Type, Spec, Supported>,
): Declaration<Type, Spec, Supported> => mode;
