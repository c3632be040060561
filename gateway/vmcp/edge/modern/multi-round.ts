import { readString, scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { memberOf, objectMembers, isObjectSpan } from '../../../http/json-walk.ts';
import { hasTooManyMembers } from '../../../http/known-members.ts';
import type { Call } from '../../call.ts';
import { CODE } from '../../error-codes.ts';
import type { Method } from '../../methods/method.ts';
import { KeyValueStoreUnavailable } from '../../../kvstore/key-value-store.ts';
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
  withSecrets(rounds.keys, (server, call) => {
    const { session, answer, body } = call;
    const { requestState: span } = call.params;
    let binding: Binding | undefined;
    const bound = (): Binding => (binding ??= bindingOf(session.principal, call));
    if (call.held) bound(); // a large body is not kept until the reply
    const rounded = new RoundsAnswer(answer, session, rounds, bound);
    if (!span) {
      call.answer = rounded;
      method(server, call);
      return;
    }
    const continueWith = (state: RequestState | undefined): void => {
      if (!state) {
        const message = '"requestState" is not valid for this request: send the request again without it';
        answer.error(CODE.invalidParams, message, { reason: 'invalid_request_state' });
      } else if ('handle' in state) resume(rounds, state, method)(server, call);
      else {
        call.edits = [...(call.edits ?? []), { span, text: JSON.stringify(state.inner) }];
        call.answer = rounded;
        method(server, call);
      }
    };
    const sealed = readString(body, span);
    const state = sealed === undefined ? undefined : rounds.states.open(sealed, bound());
    if (state instanceof Promise) stored(server, call, state, continueWith);
    else continueWith(state);
  });

/** State of a call that waits for input. */
type Suspension = Extract<RequestState, { readonly handle: string }>;

/** Serves a method whose results are always complete. @see MCP 2026-07-28, basic/patterns/mrtr, Supported Requests */
export const singleRound =
  (method: Method): Method =>
  (server, call) => {
    const { session, answer } = call;
    const whole = (reply: Buffer): Buffer =>
      resultTypeOf(reply) === 'complete' ? reply : errorMessage(answer.id, CODE.internal, UNKNOWN_TYPE);
    const relay = (message: Buffer, envelope: Envelope): void => {
      if (envelope.id !== undefined) refuseQuestion(session, message);
      else if (envelope.method !== 'notifications/cancelled') answer.message(message, envelope);
    };
    call.answer = new RewrittenAnswer(answer, whole, relay);
    method(server, call);
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
  (server, call) => {
    const { answer } = call;
    const out = withOwnProgress(answer, call.body, call.envelope.params);
    const waiting = waitingCall(server, rounds, state, call);
    if (!waiting) {
      answerCallEnded(out);
      return;
    }
    const resumes = (): void => {
      waiting.resume(out, responsesOf(call));
    };
    const abandon = (): void => {
      waiting.abandon();
    };
    if (server.calls.policies.length === 0) resumes();
    else {
      call.resumes = resumes;
      call.answer = new RefusalAnswer(answer, abandon);
      method(server, call);
    }
  };

/** Returns the call that waits for input: here, or at another replica, which may not have it any more. */
function waitingCall(
  server: VirtualServer,
  { suspended }: Rounds,
  { handle, replica }: Suspension,
  { held }: Call,
): ResumableCall | undefined {
  const here = server.replica;
  if (!here || replica === undefined || replica === here.name) return suspended.take(handle);
  return {
    resume: (out, responses) => {
      stored(server, { held, answer: out }, here.calls.resume(replica, handle, responses, out), () => undefined);
    },
    abandon: () => {
      here.calls.abandon(replica, handle);
    },
  };
}

/** Serves requests once there are secrets to seal with. */
export const withSecrets =
  (keys: () => SealKeys, method: Method): Method =>
  (server, call) => {
    const ready = keys().ready();
    if (!ready) {
      method(server, call);
      return;
    }
    stored(server, call, ready, () => {
      method(server, call);
    });
  };

/** Continues a request with what the store returns. Answers 503 when the store is unavailable. */
function stored<T>(
  server: VirtualServer,
  call: Pick<Call, 'held' | 'answer'>,
  value: Promise<T>,
  onValue: (value: T) => void,
): void {
  const { answer } = call;
  const settled = value.then(
    (result) => ({ result }),
    (error: unknown) => {
      if (!(error instanceof KeyValueStoreUnavailable)) throw error;
      return undefined;
    },
  );
  later(server, call, settled, (found) => {
    const message = 'the session store is unavailable: try again';
    if (found) onValue(found.result);
    else if (!answer.end({ kind: 'store_unavailable', message })) answer.error(CODE.internal, message);
  });
}

/** Returns the JSON texts of the client's answers, by the key of their request; none of too many, which no request has asked for. */
function responsesOf({ body, envelope }: Call): ReadonlyMap<string, string> {
  const span = memberOf(body, envelope.params, 'inputResponses');
  if (!span || !isObjectSpan(body, span) || hasTooManyMembers(body, span)) return new Map();
  const members = [...objectMembers(body, span)].filter(([, value]) => isObjectSpan(body, value));
  return new Map(members.map(([key, { start, end }]) => [key, body.toString('utf8', start, end)]));
}
