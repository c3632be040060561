import type { OnFailure, PolicyRefusal } from '../backends/backend-call.ts';
import type { BackendFailure } from '../transport/channel.ts';
import { RETRY_AFTER_SECONDS, type Answer } from '../edge/answer.ts';
import { overBudget } from '../edge/refuse.ts';
import { CODE } from '../error-codes.ts';

const seconds = (ms: number): string => `${String(ms / 1_000)} s`;

/** What a client is told: which backend and what kind of trouble, nothing that the backend wrote. */
function sentence(
  { kind, provider }: BackendFailure,
  backend: { readonly name: string; readonly timeoutMs: number },
): string {
  switch (kind) {
    case 'timeout':
      return `backend "${backend.name}" timed out after ${seconds(backend.timeoutMs)}`;
    case 'unauthenticated':
      return `backend "${backend.name}" refused the gateway's credentials`;
    case 'too_large':
      return `backend "${backend.name}" sent a reply that is larger than the gateway passes on`;
    case 'refused':
      return `backend "${backend.name}" refused the request`;
    case 'garbage':
      return `backend "${backend.name}" sent something that is not MCP`;
    case 'circuit_open':
      return `backend "${backend.name}" is unavailable: it kept failing, try again later`;
    case 'forbidden':
      return `your account has no access to provider "${String(provider)}", which backend "${backend.name}" needs`;
    case 'misconfigured':
      return `the gateway has no working credential for backend "${backend.name}": its operator must look at the log`;
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

/**
 * Refuses a request for which no credential could be obtained and that the caller, or time, can mend: as an HTTP answer
 * while nothing was sent, else as a JSON-RPC error. False: the failure is of another kind.
 */
function refuseCredential(answer: Answer, { kind, provider }: BackendFailure): boolean {
  if (kind === 'reauthenticate') {
    const what =
      provider === undefined
        ? 'your token is not accepted for this backend'
        : `the stored login at provider "${provider}" is missing or has ended`;
    const message = `${what}: log in again`;
    if (!answer.challenge(message)) answer.error(CODE.reauthenticate, message, { reauth: true });
    return true;
  }
  if (kind !== 'store_unavailable') return false;
  const message = 'the store of logins cannot be reached: try again later';
  if (!answer.unavailable(message)) answer.error(CODE.internal, message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  return true;
}

/** Refuses a call that does not fit into a budget: 503 while nothing was sent, else a JSON-RPC error. */
function refuseOverBudget(answer: Answer, failure: BackendFailure, backend: { readonly name: string }): boolean {
  const { kind, budget = 'queued_calls' } = failure;
  if (kind !== 'overloaded') return false;
  const message =
    budget === 'queued_calls'
      ? `too many calls of backend "${backend.name}" are running and waiting: try again`
      : 'the gateway holds too many large replies at the moment: try again';
  if (!answer.busy(message, budget)) answer.error(CODE.internal, message, overBudget(budget));
  return true;
}

/** Rejects a call that a policy denied or that needs more scopes. Returns false for failures of another kind. */
function refuseByPolicy(answer: Answer, failure: BackendFailure | PolicyRefusal): failure is PolicyRefusal {
  if (failure.kind === 'challenged') {
    const { scopes, message } = failure;
    if (!answer.challenge(message, scopes))
      answer.error(CODE.denied, message, { reason: 'insufficient_scope', scopes });
    return true;
  }
  if (failure.kind !== 'denied') return false;
  const { reason, message, retryAfterSeconds } = failure;
  answer.refuse(
    retryAfterSeconds === undefined
      ? { status: 403, code: CODE.denied, message, data: { reason } }
      : { status: 429, code: CODE.rateLimited, message, data: { reason, retryAfterSeconds }, retryAfterSeconds },
  );
  return true;
}

/** `tools/call`: a result that the model can read, not a protocol error. */
export const failToolCall: OnFailure = (answer, failure, backend) => {
  if (refuseByPolicy(answer, failure)) return;
  if (refuseCredential(answer, failure) || refuseOverBudget(answer, failure, backend)) return;
  const text = sentence(failure, backend);
  const retry =
    failure.retryAfterSeconds === undefined
      ? {}
      : { _meta: { 'vmcp.dev/retryAfterSeconds': failure.retryAfterSeconds } };
  answer.result(JSON.stringify({ content: [{ type: 'text', text }], isError: true, ...retry }));
};

/** Reads, prompts and completion: a JSON-RPC error. */
export const failRequest: OnFailure = (answer, failure, backend) => {
  if (refuseByPolicy(answer, failure)) return;
  if (refuseCredential(answer, failure) || refuseOverBudget(answer, failure, backend)) return;
  const data = failure.retryAfterSeconds === undefined ? undefined : { retryAfterSeconds: failure.retryAfterSeconds };
  answer.error(failure.kind === 'timeout' ? CODE.timeout : CODE.internal, sentence(failure, backend), data);
};
