import { overBudget } from '../answers/ending.ts';
import type { ObservedAnswer } from '../answers/observed-answer.ts';
import { CALLS_PER_PRINCIPAL, RETRY_AFTER_SECONDS } from '../budgets/limits.ts';
import type { Call } from '../call.ts';
import { CODE } from '../error-codes.ts';
import type { VirtualServer } from '../virtual-server.ts';

/** Serves one JSON-RPC method to a session. Answers exactly once, at once or later. */
export type Method = (server: VirtualServer, call: Call) => void;

/** A method that gets the observed answer of the call, too. */
export type ObservedMethod = (server: VirtualServer, call: Call, observed: ObservedAnswer) => void;

const TOO_MANY = {
  kind: 'refused',
  status: 429,
  code: CODE.rateLimited,
  message: `your account has ${String(CALLS_PER_PRINCIPAL)} calls in progress, the most at once: try again when some have ended`,
  data: overBudget('calls'),
  retryAfterSeconds: RETRY_AFTER_SECONDS,
} as const;

/** Counts the requests of `method` as calls in progress of their principal until they are answered. Rejects those above the limit. */
export const limited =
  (method: Method): ObservedMethod =>
  (server, call, observed) => {
    const { session } = call;
    if (!session.calls.enter()) {
      session.account.refused('calls');
      observed.end(TOO_MANY);
      return;
    }
    observed.occupy(session.calls);
    try {
      method(server, call);
    } catch (error) {
      observed.vacate();
      throw error;
    }
  };
