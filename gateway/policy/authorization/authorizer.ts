import type { Identity } from '../../contract/identity.ts';
import type { ListedItem } from '../policy.ts';
import { argumentReader, isArgumentRead, type ArgumentReader } from './arguments.ts';
import type { CheckedPolicies } from './check.ts';
import type { AuthorizationConfig } from './config.ts';
import { Evaluator, type Outcome, type PrincipalForm } from './evaluator.ts';
import { readsOf } from './syntax.ts';

/** A user, as far as policies read one. */
export interface Principal {
  /** Equal for users whom no policy of the first part tells apart. */
  readonly key: string;
  readonly constant: PrincipalForm;
  readonly byArguments: PrincipalForm | undefined;
}

/** Result of all policies. */
export interface Verdict {
  readonly allowed: boolean;
  /** Names of the policies that led to it: the permits of an allowed call, the forbids of a denied one. */
  readonly policies: readonly string[];
  /** Messages of policies that could not be evaluated. Any of them denies the call. */
  readonly errors: readonly string[];
}

const NOTHING: Outcome = { permits: [], forbids: [], errors: [] };
const UNREADABLE: Outcome = { ...NOTHING, errors: ['the arguments cannot be read exactly'] };
const mistyped = (name: string): string => `the argument "${name}" has another type than the tool declares`;

/**
 * Evaluates the policies of one virtual server, in two parts: those that read arguments, and the others, whose outcome can be
 * cached. Each policy applies or does not apply by itself, so that the outcomes can be combined. Holds no outcomes.
 */
export class Authorizer {
  readonly #constant: Evaluator;
  readonly #byArguments: Evaluator | undefined;
  readonly #read: ArgumentReader;
  readonly #provider: string | undefined;

  constructor({ cedar }: AuthorizationConfig, { policies, entities }: CheckedPolicies, server: string) {
    const setting = { server, groups: cedar, entities };
    const reading = policies.filter(({ json }) => readsOf([json]).arguments);
    this.#provider = cedar.primary_upstream_provider;
    this.#constant = new Evaluator(
      policies.filter((policy) => !reading.includes(policy)),
      setting,
    );
    this.#byArguments = reading.length > 0 ? new Evaluator(reading, setting) : undefined;
    this.#read = argumentReader(this.#byArguments?.reads.context);
  }

  /** Returns undefined for a user without the claims of the upstream provider that policies read: nothing is permitted. */
  principalOf({ subject, claims: own, upstream }: Identity): Principal | undefined {
    const claimsRead = this.#provider === undefined ? own : upstream?.provider === this.#provider && upstream.claims;
    if (!claimsRead) return undefined;
    const read = { subject, claims: claimsRead };
    const constant = this.#constant.principalOf(read);
    const { entity, claims } = constant;
    const user = this.#constant.tellsUsersApart ? entity.uid.id : '';
    const key = JSON.stringify([user, entity.attrs, entity.parents, claims]);
    return { key, constant, byArguments: this.#byArguments?.principalOf(read) };
  }

  /** Returns the outcome of the policies that read no arguments. */
  constantOutcome({ constant }: Principal, item: ListedItem): Outcome {
    return this.#constant.evaluate(constant, item, {});
  }

  get readsArguments(): boolean {
    return this.#byArguments !== undefined;
  }

  /**
   * Returns the outcome of the policies that read arguments. `readArguments` returns the JSON text of each argument that `isRead`
   * accepts, and undefined for arguments that cannot be read exactly; it is not called without such policies.
   */
  outcomeByArguments(
    { byArguments }: Principal,
    item: ListedItem,
    readArguments: (isRead: (name: string) => boolean) => ReadonlyMap<string, string> | undefined,
  ): Outcome {
    if (!this.#byArguments || !byArguments) return NOTHING;
    const { context } = this.#byArguments.reads;
    const args = readArguments((name) => isArgumentRead(context, name));
    const found = args && this.#read(args, item);
    if (!found) return UNREADABLE;
    // evaluated in any case: else a denial would be faster for a tool that exists
    const outcome = this.#byArguments.evaluate(byArguments, item, found.values);
    return found.mistyped === undefined
      ? outcome
      : { ...outcome, errors: [...outcome.errors, mistyped(found.mistyped)] };
  }

  /** Evaluates all policies. */
  evaluate(principal: Principal, item: ListedItem, args: ReadonlyMap<string, string>): Verdict {
    const outcomes = [this.constantOutcome(principal, item), this.outcomeByArguments(principal, item, () => args)];
    const allowed = isAllowed(...outcomes);
    return {
      allowed,
      policies: outcomes.flatMap(({ permits, forbids }) => (allowed ? permits : forbids)),
      errors: outcomes.flatMap(({ errors }) => errors),
    };
  }
}

/** Returns true when a policy permits, none forbids, and all could be evaluated. */
export const isAllowed = (...outcomes: readonly Outcome[]): boolean =>
  outcomes.some(({ permits }) => permits.length > 0) &&
  outcomes.every(({ forbids, errors }) => forbids.length === 0 && errors.length === 0);
