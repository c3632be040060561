import { ByteBudget, type HeldBytes } from './byte-budget.ts';
import { CallsInProgress, type CallCount } from './calls-in-progress.ts';
import { BYTE_LIMITS, CALLS_PER_PRINCIPAL, type Budget } from './limits.ts';

/** Budgets of one process, shared by its virtual servers. */
export interface Budgets {
  readonly request: ByteBudget;
  readonly reply: ByteBudget;
  readonly kept: ByteBudget;
  readonly subscriptions: ByteBudget;
  readonly calls: CallsInProgress;
}

export const createBudgets = (): Budgets => ({
  request: new ByteBudget(BYTE_LIMITS.request),
  reply: new ByteBudget(BYTE_LIMITS.reply),
  kept: new ByteBudget(BYTE_LIMITS.kept),
  subscriptions: new ByteBudget(BYTE_LIMITS.subscriptions),
  calls: new CallsInProgress(CALLS_PER_PRINCIPAL),
});

/** Counts exceeded budgets of one virtual server. */
export type OnBudgetRefusal = (budget: Budget) => void;

/** Shares of one principal in the budgets of the process. */
export class Account {
  readonly principal: string;
  readonly #budgets: Budgets;
  readonly #onRefusal: OnBudgetRefusal;

  constructor(principal: string, budgets: Budgets, onRefusal: OnBudgetRefusal) {
    this.principal = principal;
    this.#budgets = budgets;
    this.#onRefusal = onRefusal;
  }

  request(): HeldBytes {
    return this.#budgets.request.open(this.principal);
  }

  reply(): HeldBytes {
    return this.#budgets.reply.open(this.principal);
  }

  kept(): HeldBytes {
    return this.#budgets.kept.open(this.principal);
  }

  subscriptions(): HeldBytes {
    return this.#budgets.subscriptions.open(this.principal);
  }

  /** Returns the count of a new session, which must close it. */
  calls(): CallCount {
    return this.#budgets.calls.open(this.principal);
  }

  refused(budget: Budget): void {
    this.#onRefusal(budget);
  }
}
