import type { OnFailure, PolicyRefusal } from '../calls/failure.ts';
import type { BackendFailure } from '../transport/channel.ts';
import type { Answer } from '../answers/answer.ts';
import { factsOf, type Ending } from '../answers/ending.ts';
import type { Budget } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';

const seconds = (ms: number): string => `${String(ms / 1_000)} s`;

/**
 * Returns the message for the client: names the backend and the kind of failure, and quotes nothing from the backend.
 */
function sentence(
  { kind, provider }: BackendFailure,
  backend: { readonly name: string; readonly timeoutMs: number },
): string {
  switch (kind) {
    case 'timeout':
      return `backend "${backend.name}" timed out after ${seconds(backend.timeoutMs)}`;
    case 'unauthenticated':
      return `backend "${backend.name}" rejected the gateway's credentials`;
    case 'too_large':
      return `backend "${backend.name}" sent a reply that is larger than the gateway forwards`;
    case 'refused':
      return `backend "${backend.name}" refused the request`;
    case 'garbage':
      return `backend "${backend.name}" sent a message that is not valid MCP`;
    case 'circuit_open':
      return `backend "${backend.name}" is unavailable: too many calls failed, try again later`;
    case 'forbidden':
      if (provider === undefined) return `your account has no access to backend "${backend.name}"`;
      return `your account has no access to provider "${provider}", which backend "${backend.name}" needs`;
    case 'misconfigured':
      return `the gateway has no valid credential for backend "${backend.name}": its operator finds the reason in the log`;
    case 'overloaded':
    case 'reauthenticate':
    case 'store_unavailable':
    case 'credential_unavailable':
    case 'unavailable':
    case 'session_lost':
    case 'cancelled':
      return `backend "${backend.name}" is unavailable`;
  }
}

/** Ends a request, with a JSON-RPC error when the response has started. */
function endWith(answer: Answer, ending: Ending): void {
  if (answer.end(ending)) return;
  const { code, data, lateData = data } = factsOf(ending);
  answer.error(code, ending.message, lateData);
}

/**
 * Answers a request without a usable credential when a new login or a retry can help: as HTTP status while nothing was
 * sent, else as a JSON-RPC error. Returns false for failures of another kind.
 */
function refuseCredential(answer: Answer, { kind, provider }: BackendFailure): boolean {
  if (kind === 'reauthenticate') {
    const what =
      provider === undefined
        ? 'your token is not accepted for this backend'
        : `the stored login at provider "${provider}" is missing or has ended`;
    endWith(answer, { kind: 'challenged', message: `${what}: log in again` });
    return true;
  }
  if (kind !== 'store_unavailable') return false;
  endWith(answer, { kind: 'store_unavailable', message: 'the key-value store is unavailable: try again later' });
  return true;
}

function overBudgetMessage(budget: Budget, backend: string): string {
  switch (budget) {
    case 'queued_calls':
      return `too many calls of backend "${backend}" are running or queued: try again`;
    case 'processes':
      return `your sessions have too many processes of backend "${backend}": close some sessions`;
    default:
      return 'too many large replies are in memory: try again';
  }
}

/**
 * Rejects a call that exceeds a budget: 503 while nothing was sent, else a JSON-RPC error. Returns false for other
 * failures.
 */
function refuseOverBudget(answer: Answer, failure: BackendFailure, backend: { readonly name: string }): boolean {
  const { kind, budget = 'queued_calls' } = failure;
  if (kind !== 'overloaded') return false;
  endWith(answer, { kind: 'overloaded', message: overBudgetMessage(budget, backend.name), budget });
  return true;
}

/** Rejects a call that a policy denied or could not decide on, or that needs more scopes. Returns false for failures of another kind. */
function refuseByPolicy(answer: Answer, failure: BackendFailure | PolicyRefusal): failure is PolicyRefusal {
  if (failure.kind === 'challenged') {
    endWith(answer, failure);
    return true;
  }
  if (failure.kind !== 'denied' && failure.kind !== 'undecided') return false;
  const { reason, message, retryAfterSeconds } = failure;
  const data = { reason, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
  answer.end({ kind: 'refused', ...statusOf(failure), message, data, retryAfterSeconds });
  return true;
}

function statusOf({ kind, retryAfterSeconds }: PolicyRefusal & { readonly kind: 'denied' | 'undecided' }) {
  if (kind === 'undecided') return { status: 503, code: CODE.internal } as const;
  if (retryAfterSeconds !== undefined) return { status: 429, code: CODE.rateLimited } as const;
  return { status: 403, code: CODE.denied } as const;
}

/** Answers `tools/call` with a result that the model can read instead of a protocol error. */
export const failToolCall: OnFailure = (answer, failure, backend) => {
  if (refuseByPolicy(answer, failure)) return;
  if (refuseCredential(answer, failure) || refuseOverBudget(answer, failure, backend)) return;
  const text = sentence(failure, backend);
  const retry =
    failure.retryAfterSeconds === undefined
      ? {}
      : { _meta: { 'vmcp.dev/retryAfterSeconds': failure.retryAfterSeconds } };
  answer.result(JSON.stringify({ content: [{ type: 'text', text }], isError: true, ...retry }), 'tool_error');
};

/** Answers reads, prompts and completions with a JSON-RPC error. */
export const failRequest: OnFailure = (answer, failure, backend) => {
  if (refuseByPolicy(answer, failure)) return;
  if (refuseCredential(answer, failure) || refuseOverBudget(answer, failure, backend)) return;
  const data = failure.retryAfterSeconds === undefined ? undefined : { retryAfterSeconds: failure.retryAfterSeconds };
  answer.error(failure.kind === 'timeout' ? CODE.timeout : CODE.internal, sentence(failure, backend), data);
};
