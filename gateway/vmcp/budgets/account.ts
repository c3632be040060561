import { ByteBudget, type HeldBytes } from './byte-budget.ts';
import { BYTE_LIMITS, type Budget } from './limits.ts';

/** Byte budgets of one process, shared by its virtual servers. */
export interface ByteBudgets {
  readonly request: ByteBudget;
  readonly reply: ByteBudget;
  readonly kept: ByteBudget;
  readonly subscriptions: ByteBudget;
}

export const createByteBudgets = (): ByteBudgets => ({
  request: new ByteBudget(BYTE_LIMITS.request),
  reply: new ByteBudget(BYTE_LIMITS.reply),
  kept: new ByteBudget(BYTE_LIMITS.kept),
  subscriptions: new ByteBudget(BYTE_LIMITS.subscriptions),
});

/** Counts exceeded budgets of one virtual server. */
export type OnBudgetRefusal = (budget: Budget) => void;

/** Shares of one principal in the budgets of the process. */
export class Account {
  readonly principal: string;
  readonly #budgets: ByteBudgets;
  readonly #onRefusal: OnBudgetRefusal;

  constructor(principal: string, budgets: ByteBudgets, onRefusal: OnBudgetRefusal) {
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

  refused(budget: Budget): void {
    this.#onRefusal(budget);
  }
}
