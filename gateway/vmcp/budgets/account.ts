import { ByteBudget } from './byte-budget.ts';
import { BYTE_LIMITS, type Budget } from './limits.ts';

/** Byte budgets of one process, shared by its virtual servers. */
export interface ByteBudgets {
  readonly subscriptions: ByteBudget;
}

export const createByteBudgets = (): ByteBudgets => ({
  subscriptions: new ByteBudget(BYTE_LIMITS.subscriptions),
});

/** Counts refusals of one virtual server. */
export type OnBudgetRefusal = (budget: Budget) => void;
