import { outcomeOfStatus } from '../../audit/event.ts';
import type { Reply } from '../../audit/audited-request.ts';
import { RETRY_AFTER_SECONDS, type Budget } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';

/** A rejected call in terms of HTTP and JSON-RPC. */
export interface Refused {
  readonly kind: 'refused';
  /** Status where the revision has no sessions. In a session it is 200. */
  readonly status: 403 | 429 | 503;
  readonly code: number;
  readonly message: string;
  readonly data: object;
  readonly retryAfterSeconds?: number | undefined;
}

/** Ends of a request without a reply of a backend. Only `refused` can be answered when the response has started. */
export type Ending =
  | Refused
  /** The client must log in again; with `scopes`, with more scopes. */
  | { readonly kind: 'challenged'; readonly message: string; readonly scopes?: readonly string[] | undefined }
  | { readonly kind: 'store_unavailable'; readonly message: string }
  | { readonly kind: 'overloaded'; readonly message: string; readonly budget: Budget };

/** An ending for all who learn of it. */
interface EndingFacts {
  readonly status: number;
  readonly code: number;
  readonly data: object;
  /** Data of the error that takes its place when the response has started. */
  readonly lateData?: object;
  readonly retryAfterSeconds?: number | undefined;
  /** `error.type` of OpenTelemetry. */
  readonly errorType: string;
  readonly audit: Reply;
}

const OK = 200;
/** Seconds to wait before a retry while the login store is unavailable. */
export const STORE_RETRY_AFTER_SECONDS = 5;

/** The table of endings. */
export function factsOf(ending: Ending): EndingFacts {
  switch (ending.kind) {
    case 'refused': {
      const { status, code, data, retryAfterSeconds } = ending;
      const { reason: given } = data as { readonly reason?: unknown };
      const reason = typeof given === 'string' ? given : undefined;
      // the status is OK, or that of the response
      const audit = { outcome: outcomeOfStatus(status), status: OK, errorCode: code, reason } as const;
      return { status, code, data, retryAfterSeconds, errorType: String(code), audit };
    }
    case 'challenged': {
      const { scopes } = ending;
      return scopes
        ? {
            status: 403,
            code: CODE.denied,
            data: { reason: 'insufficient_scope', scopes },
            errorType: 'insufficient_scope',
            audit: { outcome: 'denied', status: 403, reason: 'scope' },
          }
        : {
            status: 401,
            code: CODE.reauthenticate,
            data: { reauth: true },
            errorType: 'unauthenticated',
            audit: { outcome: 'denied', status: 401, reason: 'reauthenticate' },
          };
    }
    case 'store_unavailable':
      return {
        status: 503,
        code: CODE.internal,
        data: {},
        lateData: { retryAfterSeconds: STORE_RETRY_AFTER_SECONDS },
        retryAfterSeconds: STORE_RETRY_AFTER_SECONDS,
        errorType: 'unavailable',
        audit: { outcome: 'error', status: OK, errorCode: CODE.internal, reason: 'store_unavailable' },
      };
    case 'overloaded':
      return {
        status: 503,
        code: CODE.internal,
        data: overBudget(ending.budget),
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        errorType: 'overloaded',
        audit: { outcome: 'error', status: OK, errorCode: CODE.internal, reason: ending.budget },
      };
  }
}

/** Returns the `data` of an error for an exceeded budget: a stable reason and the time to retry. */
export const overBudget = (budget: Budget): object => ({
  reason: 'over_budget',
  budget,
  retryAfterSeconds: RETRY_AFTER_SECONDS,
});

/** Refusal of what would keep a gateway running that stops. */
export const SHUTTING_DOWN: Refused = {
  kind: 'refused',
  status: 503,
  code: CODE.internal,
  message: 'the gateway is shutting down: try again',
  data: {},
  retryAfterSeconds: 1,
};
