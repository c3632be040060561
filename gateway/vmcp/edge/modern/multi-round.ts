import { readString, scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { memberOf, objectMembers, isObjectSpan, type Span } from '../../../http/json-walk.ts';
import { hasTooManyMembers } from '../../../http/known-members.ts';
import type { ClientRequest } from '../../client-request.ts';
import { CODE } from '../../error-codes.ts';
import type { Method } from '../../methods/method.ts';
import { KeyValueStoreUnavailable } from '../../../kvstore/key-value-store.ts';
import type { Answer } from '../../answers/answer.ts';
import { RefusalAnswer } from '../../answers/refusal-answer.ts';
import { RewrittenAnswer } from '../../answers/rewritten-answer.ts';
import { errorMessage } from '../../message.ts';
import { resultTypeOf } from '../../transport/modern/result-text.ts';
import { later } from '../../methods/later.ts';
import { answerCallEnded, type ResumableCall } from '../../replicas/resumed-calls.ts';
import type { SealKeys } from '../../replicas/seal-keys.ts';
import type { Session } from '../../session.ts';
import type { VirtualServer } from '../../virtual-server.ts';
import { withOwnProgress } from './questions/own-progress.ts';
import { bindingOf, type Binding, type RequestState } from './request-state.ts';
import { RoundsAnswer, UNKNOWN_TYPE, type Rounds } from './rounds-answer.ts';

/**
 * Serves a method whose results may ask the client for input: a repeated request with `requestState` continues an
 * earlier one. @see MCP 2026-07-28, SEP-2322
 */
export const multiRound = (method: Method, rounds: Rounds): Method =>
  withSecrets(rounds.keys, (server, session, request, answer) => {
    const { body } = request;
    const { requestState: span } = request.params;
    let binding: Binding | undefined;
    const bound = (): Binding => (binding ??= bindingOf(session.principal, request));
    if (request.held) bound(); // a large body is not kept until the reply
    const rounded = new RoundsAnswer(answer, session, rounds, bound);
    if (!span) {
      method(server, session, request, rounded);
      return;
    }
    const continueWith = (state: RequestState | undefined): void => {
      if (!state) {
        const message = '"requestState" is not valid for this request: send the request again without it';
        answer.error(CODE.invalidParams, message, { reason: 'invalid_request_state' });
      } else if ('handle' in state) resume(rounds, state, method)(server, session, request, answer);
      else method(server, session, withState(request, span, state.inner), rounded);
    };
    const sealed = readString(body, span);
    const state = sealed === undefined ? undefined : rounds.states.open(sealed, bound());
    if (state instanceof Promise) stored(server, request, answer, state, continueWith);
    else continueWith(state);
  });

/** State of a call that waits for input. */
type Suspension = Extract<RequestState, { readonly handle: string }>;

/** Serves a method whose results are always complete. @see MCP 2026-07-28, basic/patterns/mrtr, Supported Requests */
export const singleRound =
  (method: Method): Method =>
  (server, session, request, answer) => {
    const whole = (reply: Buffer): Buffer =>
      resultTypeOf(reply) === 'complete' ? reply : errorMessage(answer.id, CODE.internal, UNKNOWN_TYPE);
    const relay = (message: Buffer, envelope: Envelope): void => {
      if (envelope.id !== undefined) refuseQuestion(session, message);
      else if (envelope.method !== 'notifications/cancelled') answer.message(message, envelope);
    };
    method(server, session, request, new RewrittenAnswer(answer, whole, relay));
  };

/** Answers a request of a backend that the client cannot receive: otherwise the backend would wait for it. */
function refuseQuestion(session: Session, message: Buffer): void {
  const { id } = scanBackendEnvelope(message);
  if (!id) return;
  const refusal = errorMessage(message.subarray(id.start, id.end), CODE.methodNotFound, 'not offered here');
  session.requests.answer(refusal, scanBackendEnvelope(refusal));
}

/** Continues a call that waits for input, once the policies allow the request again. */
const resume =
  (rounds: Rounds, state: Suspension, method: Method): Method =>
  (server, session, request, answer) => {
    const out = withOwnProgress(answer, request.body, request.envelope.params);
    const call = waitingCall(server, rounds, state, request);
    if (!call) {
      answerCallEnded(out);
      return;
    }
    const resumes = (): void => {
      call.resume(out, responsesOf(request));
    };
    const abandon = (): void => {
      call.abandon();
    };
    if (server.calls.policies.length === 0) resumes();
    else method(server, session, { ...request, resumes }, new RefusalAnswer(answer, abandon));
  };

/** Returns the call that waits for input: here, or at another replica, which may not have it any more. */
function waitingCall(
  server: VirtualServer,
  { suspended }: Rounds,
  { handle, replica }: Suspension,
  request: ClientRequest,
): ResumableCall | undefined {
  const here = server.replica;
  if (!here || replica === undefined || replica === here.name) return suspended.take(handle);
  return {
    resume: (out, responses) => {
      stored(server, request, out, here.calls.resume(replica, handle, responses, out), () => undefined);
    },
    abandon: () => {
      here.calls.abandon(replica, handle);
    },
  };
}

/** Serves requests once there are secrets to seal with. */
export const withSecrets =
  (keys: () => SealKeys, method: Method): Method =>
  (server, session, request, answer) => {
    const ready = keys().ready();
    if (!ready) {
      method(server, session, request, answer);
      return;
    }
    stored(server, request, answer, ready, () => {
      method(server, session, request, answer);
    });
  };

/** Continues a request with what the store returns. Answers 503 when the store is unavailable. */
function stored<T>(
  server: VirtualServer,
  request: ClientRequest,
  answer: Answer,
  value: Promise<T>,
  onValue: (value: T) => void,
): void {
  const settled = value.then(
    (result) => ({ result }),
    (error: unknown) => {
      if (!(error instanceof KeyValueStoreUnavailable)) throw error;
      return undefined;
    },
  );
  later(server, request, answer, settled, (found) => {
    const message = 'the session store is unavailable: try again';
    if (found) onValue(found.result);
    else if (!answer.unavailable(message)) answer.error(CODE.internal, message);
  });
}

const withState = (request: ClientRequest, span: Span, inner: string): ClientRequest => ({
  ...request,
  edits: [...(request.edits ?? []), { span, text: JSON.stringify(inner) }],
});

/** Returns the JSON texts of the client's answers, by the key of their request; none of too many, which no request has asked for. */
function responsesOf({ body, envelope }: ClientRequest): ReadonlyMap<string, string> {
  const span = memberOf(body, envelope.params, 'inputResponses');
  if (!span || !isObjectSpan(body, span) || hasTooManyMembers(body, span)) return new Map();
  const members = [...objectMembers(body, span)].filter(([, value]) => isObjectSpan(body, value));
  return new Map(members.map(([key, { start, end }]) => [key, body.toString('utf8', start, end)]));
}
