import { Type, type TObject, type TOptional } from 'typebox';
import { at, type Rule } from '../../../gateway/contract/rule.ts';

interface Member {
  readonly type: string;
  readonly spec: TObject | undefined;
  readonly rules?: readonly Rule[];
}

/** Optional members, one for each variant with a spec, named like its type. */
type Members<V extends readonly Member[]> = {
  [M in V[number] as M extends { readonly spec: TObject } ? M['type'] : never]: M extends {
    readonly spec: infer S extends TObject;
  }
    ? TOptional<S>
    : never;
};

export const variantMembers = <const V extends readonly Member[]>(variants: V): Members<V> =>
  Object.fromEntries(
    variants.flatMap(({ type, spec }) => (spec ? [[type, Type.Optional(spec)] as const] : [])),
  ) as Members<V>;

/** Returns the rules of the variants, with paths below the member of each variant. */
export const variantRules = (variants: readonly Member[]): Rule[] =>
  variants.flatMap(({ type, rules = [] }) => at(type, rules));
