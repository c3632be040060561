import type { Clause, Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { MAX_JSON_DEPTH } from '../limits.ts';
import { depthOf, readsOf } from '../syntax.ts';

/**
 * Returns a permit that applies to each request to which `policy` can apply, whatever the arguments are. A request that it leaves
 * out needs no decision of the policy.
 */
export function withoutArguments(policy: PolicyJson): PolicyJson {
  const conditions = policy.conditions.map(({ kind, body }): Clause => ({
    kind: 'when',
    body: kind === 'when' ? bound(body, true) : not(bound(body, false)),
  }));
  const possible: PolicyJson = { ...policy, effect: 'permit', conditions };
  return depthOf(possible) > MAX_JSON_DEPTH ? { ...possible, conditions: [] } : possible;
}

/** Operators of truth values, with their operands. */
interface Logic {
  readonly '&&'?: Operands;
  readonly '||'?: Operands;
  readonly '!'?: { readonly arg: Expr };
  readonly 'if-then-else'?: { readonly if: Expr; readonly then: Expr; readonly else: Expr };
}

interface Operands {
  readonly left: Expr;
  readonly right: Expr;
}

/**
 * Returns an expression without arguments: true where `expression` can be true (`upper`), or false where it can be false. Recurses
 * at most as deep as policies may be nested.
 */
function bound(expression: Expr, upper: boolean): Expr {
  const { '&&': and, '||': or, '!': negated, 'if-then-else': choice } = expression as Logic;
  if (and) return { '&&': both(and, upper) };
  if (or) return { '||': both(or, upper) };
  if (negated) return not(bound(negated.arg, !upper));
  if (choice && !mayReadArguments(choice.if))
    return {
      'if-then-else': { if: choice.if, then: bound(choice.then, upper), else: bound(choice.else, upper) },
    };
  return mayReadArguments(expression) ? { Value: upper } : expression;
}

const both = ({ left, right }: Operands, upper: boolean) => ({ left: bound(left, upper), right: bound(right, upper) });

const not = (arg: Expr): Expr => ({ '!': { arg } });

const mayReadArguments = (expression: Expr): boolean => readsOf([expression]).arguments;
