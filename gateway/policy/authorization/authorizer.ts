import type { Identity } from '../../contract/identity.ts';
import type { ListedItem } from '../policy.ts';
import { ByArguments, type CallingPrincipal, type Concerned, type ReadTexts } from './arguments/by-arguments.ts';
import { CedarInstance } from './cedar.ts';
import type { CheckedPolicies } from './check.ts';
import type { AuthorizationConfig } from './config.ts';
import { Evaluator, type Outcome, type PrincipalForm } from './evaluator.ts';
import { readsOf } from './syntax.ts';

/** A user, as far as policies read one. */
export interface Principal {
  /** Equal for users whom no policy tells apart. */
  readonly key: string;
  readonly constant: PrincipalForm;
  readonly byArguments: CallingPrincipal | undefined;
}

/** Decision on all calls of an item by a user, as far as it does not depend on their arguments. */
export interface Standing {
  readonly outcome: Outcome;
  /** Policies that decide by the arguments; undefined when there are none. */
  readonly concerned: Concerned | undefined;
}

/**
 * Evaluates the policies of one virtual server, in two parts: those that read arguments, and the others, whose outcome can be
 * cached. Each policy applies or does not apply by itself, so that the outcomes can be combined. Holds no outcomes.
 */
export class Authorizer {
  readonly #constant: Evaluator;
  readonly #byArguments: ByArguments | undefined;
  readonly #provider: string | undefined;

  constructor({ cedar }: AuthorizationConfig, { policies, entities }: CheckedPolicies, server: string) {
    const setting = { server, groups: cedar, entities, cedar: new CedarInstance() };
    const reading = policies.filter(({ json }) => readsOf([json]).arguments);
    this.#provider = cedar.primary_upstream_provider;
    this.#constant = new Evaluator(
      policies.filter((policy) => !reading.includes(policy)),
      setting,
    );
    this.#byArguments = reading.length > 0 ? new ByArguments(reading, setting) : undefined;
  }

  /** Returns undefined for a user without the claims of the upstream provider that policies read: nothing is permitted. */
  principalOf({ subject, claims: own, upstream }: Identity): Principal | undefined {
    const claimsRead = this.#provider === undefined ? own : upstream?.provider === this.#provider && upstream.claims;
    if (!claimsRead) return undefined;
    const read = { subject, claims: claimsRead };
    const constant = this.#constant.principalOf(read);
    const byArguments = this.#byArguments?.principalOf(read);
    const isApart = this.#constant.tellsUsersApart || this.#byArguments?.tellsUsersApart === true;
    const forms = [constant, byArguments?.possible].map(
      (form) => form && [form.entity.attrs, form.entity.parents, form.claims],
    );
    return { key: JSON.stringify([isApart ? subject : '', forms]), constant, byArguments };
  }

  get readsArguments(): boolean {
    return this.#byArguments !== undefined;
  }

  standingOf({ constant, byArguments }: Principal, item: ListedItem): Standing {
    return {
      outcome: this.#constant.evaluate(constant, item, {}),
      concerned: byArguments && this.#byArguments?.concerned(byArguments, item),
    };
  }

  /**
   * Returns the outcome of the policies that read arguments; undefined when there are none. `readTexts` is not called without such
   * policies.
   */
  outcomeByArguments(
    { byArguments }: Principal,
    item: ListedItem,
    { concerned }: Standing,
    readTexts: ReadTexts,
  ): Outcome | undefined {
    return byArguments && concerned && this.#byArguments?.outcome(byArguments, item, concerned, readTexts);
  }
}

/** Returns true when a policy permits, none forbids, and all could be evaluated. */
export const isAllowed = (outcomes: readonly Outcome[]): boolean =>
  outcomes.some(({ permits }) => permits.length > 0) &&
  outcomes.every(({ forbids, errors }) => forbids.length === 0 && errors.length === 0);
