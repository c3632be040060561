import type { Identity } from '../../../contract/identity.ts';
import type { ListedItem } from '../../policy.ts';
import {
  argumentReader,
  argumentsRead,
  foldedNames,
  type ArgumentNames,
  type ArgumentReader,
  type ReadArguments,
} from './argument-reader.ts';
import { withExactComparisons } from './comparisons.ts';
import { Evaluator, type Outcome, type PrincipalForm, type Setting } from '../evaluator.ts';
import type { ParsedPolicy } from '../policy-text.ts';
import { readsOf, depthOf } from '../syntax.ts';
import type { Clause, Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { MAX_JSON_DEPTH } from '../config.ts';

/**
 * Returns a permit that applies to each request to which `policy` can apply, whatever the arguments are. A request that it leaves
 * out needs no decision of the policy.
 */
function withoutArguments(policy: PolicyJson): PolicyJson {
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

/** Policies that read arguments and can apply to calls of an item by a user. */
export interface Concerned {
  readonly policies: ReadonlySet<ParsedPolicy>;
  /** Arguments that they read, folded. */
  readonly names: ArgumentNames;
}

/** Facts about a user that these policies read. */
export interface CallingPrincipal {
  /** Form on which `concerned` depends. */
  readonly possible: PrincipalForm;
  readonly calling: PrincipalForm;
}

/**
 * Returns the JSON text of each argument; an empty text where `isRead` returns false. Returns undefined for arguments that cannot be
 * read exactly.
 */
export type ReadTexts = (isRead: (name: string) => boolean) => ReadonlyMap<string, string> | undefined;

const NOTHING: Outcome = { permits: [], forbids: [], errors: [] };
const failed = (message: string): Outcome => ({ ...NOTHING, errors: [{ policy: undefined, message }] });
const UNREADABLE = failed('the arguments cannot be read exactly');
const UNCONCERNED: Concerned = { policies: new Set(), names: new Set() };

/** The policies of a server that read arguments. */
export class ByArguments {
  readonly #evaluator: Evaluator;
  /** Finds the policies that can apply. */
  readonly #possible: Evaluator;
  readonly #policies: ReadonlyMap<ParsedPolicy, ArgumentNames>;
  readonly #names: ArgumentNames;
  readonly #read: ArgumentReader;

  constructor(policies: readonly ParsedPolicy[], setting: Setting) {
    this.#evaluator = new Evaluator(policies, setting, withExactComparisons);
    this.#possible = new Evaluator(policies, setting, withoutArguments);
    this.#policies = new Map(
      policies.map((policy) => [policy, foldedNames(argumentsRead(readsOf([policy.json]).context))]),
    );
    const { context } = this.#evaluator.reads;
    this.#names = argumentsRead(context);
    this.#read = argumentReader(context);
  }

  /** True when `concerned` may differ for users with equal forms. */
  get tellsUsersApart(): boolean {
    return this.#possible.tellsUsersApart;
  }

  principalOf(identity: Pick<Identity, 'subject' | 'claims'>): CallingPrincipal {
    return { possible: this.#possible.principalOf(identity), calling: this.#evaluator.principalOf(identity) };
  }

  /** Returns the policies that can apply to calls of this item, and those that cannot be evaluated without arguments. */
  concerned({ possible }: CallingPrincipal, item: ListedItem): Concerned {
    const { permits, errors } = this.#possible.evaluate(possible, item, {});
    const failures = errors.flatMap(({ policy }) => policy ?? [...this.#policies.keys()]);
    const policies = new Set([...permits, ...failures]);
    if (policies.size === 0) return UNCONCERNED;
    const names = [...policies].map((policy) => this.#policies.get(policy));
    return {
      policies,
      names: names.every((each) => each !== undefined) ? new Set(names.flatMap((each) => [...each])) : undefined,
    };
  }

  /** Returns the outcome of the policies that are concerned. The others have no part in it: not even arguments that they cannot read. */
  outcome(
    { calling }: CallingPrincipal,
    item: ListedItem,
    { policies, names }: Concerned,
    readTexts: ReadTexts,
  ): Outcome {
    const texts = readTexts((name) => this.#names?.has(name) ?? true);
    const found = texts && this.#read(texts, item);
    if (!found) return policies.size === 0 ? NOTHING : UNREADABLE;
    // evaluated in any case: else a denial would be faster for a tool that exists
    const { permits, forbids, errors } = this.#evaluator.evaluate(calling, item, found.values);
    if (policies.size === 0) return NOTHING;
    return (
      faultOf(found, names) ?? {
        permits,
        forbids,
        errors: errors.filter(({ policy }) => !policy || policies.has(policy)),
      }
    );
  }
}

/** Returns the outcome of arguments that policies cannot decide on. */
function faultOf({ unreadable, mistyped }: ReadArguments, names: ArgumentNames): Outcome | undefined {
  for (const name of unreadable) if (names?.has(name) ?? true) return UNREADABLE;
  for (const [folded, name] of mistyped)
    if (names?.has(folded) ?? true) return failed(`the argument "${name}" has another type than the tool declares`);
  return undefined;
}
