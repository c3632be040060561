import { readString, scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { memberOf, splice, withMember } from '../../../http/json-walk.ts';
import type { RequestTrace } from '../../../telemetry/tracing.ts';
import type { Answer, WatchingCall } from '../../answers/answer.ts';
import type { Ending } from '../../answers/ending.ts';
import type { SuspendedCall, SuspendedCalls } from '../../calls/suspended-calls.ts';
import { CODE } from '../../error-codes.ts';
import { errorMessage } from '../../message.ts';
import { namesOf, type Capabilities } from '../../server-requests.ts';
import type { Session } from '../../session.ts';
import { resultTypeOf } from '../../transport/modern/result-text.ts';
import type { SealKeys } from '../../replicas/seal-keys.ts';
import { questionFault } from './questions/question-fault.ts';
import { LONGEST_STATE, type Binding, type RequestStates } from './request-state.ts';
import type { TaskIds } from './tasks/task-ids.ts';
import { declaresTasks, taskIdIn, TASKS_UNDECLARED, withTaskId } from './tasks/task-text.ts';

/** Parts of this process that the requests of one call share. */
export interface Rounds {
  readonly states: RequestStates;
  readonly suspended: SuspendedCalls<RoundsAnswer>;
  readonly tasks: TaskIds;
  /** Secrets that states and task ids are sealed with. */
  readonly keys: () => SealKeys;
  /** Name of this process among several replicas. */
  readonly replica: () => string | undefined;
}

/** Message for a result that clients must not receive. @see MCP 2026-07-28, basic, ResultType */
export const UNKNOWN_TYPE = 'the backend sent a result of a type that this method does not have';

/**
 * Answer to a call that may need several requests of the client. A request of a backend in mid call ends the client's
 * request with `input_required`; the call waits here for the request that brings the answers. The state of a backend
 * that asks in this way itself is sealed, and so is the id of a task that a tool makes.
 */
export class RoundsAnswer implements Answer, SuspendedCall {
  readonly id: Buffer;
  readonly trace: RequestTrace | undefined;
  /** Undefined while the client has been asked and has not answered. */
  #out: Answer | undefined;
  readonly #session: Session;
  readonly #rounds: Rounds;
  readonly #binding: () => Binding;
  #call: WatchingCall | undefined;
  /** Requests of the backend without an answer, by the gateway's id: their JSON texts. */
  #asked: Map<string, string> | undefined;
  #isAsking = false;
  #hasAsked = false;
  #late: ((out: Answer) => void) | undefined;
  #tool = '';
  #backend = '';

  constructor(out: Answer, session: Session, rounds: Rounds, binding: () => Binding) {
    this.id = out.id;
    this.trace = out.trace;
    this.#out = out;
    this.#session = session;
    this.#rounds = rounds;
    this.#binding = binding;
  }

  get started(): boolean {
    return this.#hasAsked || this.#out?.started === true;
  }

  /** Continues with the client's next request. `responses` are JSON texts by the keys of their requests. */
  resume(out: Answer, responses: ReadonlyMap<string, string>): void {
    this.#out = out;
    if (this.#late) {
      this.#late(out);
      return;
    }
    if (this.#call) out.watchClient(this.#call);
    for (const [key, response] of responses) if (this.#asked?.delete(key)) this.#respond(key, `"result":${response}`);
    if (this.#asked?.size) this.#askSoon();
  }

  abandon(): void {
    this.#call?.clientLeft();
  }

  message(message: Buffer, envelope: Envelope): void {
    if (envelope.id === undefined) {
      if (envelope.method !== 'notifications/cancelled') this.#out?.message(message, envelope);
      return;
    }
    const { id, method = '', params } = scanBackendEnvelope(message); // its id is no longer that of `envelope`
    if (!id) return;
    const key = message.toString('utf8', id.start, id.end);
    if (this.#rounds.suspended.isFull) {
      this.#respond(key, `"error":{"code":${String(CODE.internal)},"message":"too many calls wait for input"}`);
      return;
    }
    const body = params ? `,"params":${message.toString('utf8', params.start, params.end)}` : '';
    (this.#asked ??= new Map<string, string>()).set(key, `{"method":${JSON.stringify(method)}${body}}`);
    this.#askSoon();
  }

  /** Rejects the call: the backend needs capabilities that the client has not declared. */
  lacks(missing: Capabilities): void {
    const message = `the backend needs the client capability "${namesOf(missing)}": declare it and send the request again`;
    this.#settle((out) => {
      out.error(CODE.missingCapability, message, { requiredCapabilities: missing });
    });
    this.#out = undefined;
    this.#call?.clientLeft();
  }

  result(result: Buffer | string, errorType?: string): void {
    this.#settle((out) => {
      out.result(result, errorType);
    });
  }

  error(code: number, message: string, data?: unknown): void {
    this.#settle((out) => {
      out.error(code, message, data);
    });
  }

  reply(message: Buffer, errorType?: string): void {
    const type = resultTypeOf(message);
    if (type === 'input_required') this.#replyQuestions(message, errorType);
    else if (type === 'task') this.#replyTask(message, errorType);
    else if (type === 'complete') this.#reply(message, errorType);
    else this.error(CODE.internal, UNKNOWN_TYPE);
  }

  #replyQuestions(message: Buffer, errorType: string | undefined): void {
    const fault = questionFault(message, this.#session);
    if (fault === undefined) this.#reply(this.#sealed(message), errorType);
    else if (fault !== 'invalid') this.lacks(fault);
    else this.error(CODE.internal, 'the backend asks for input in a form that is not MCP');
  }

  /** Sends a reply; undefined for one whose state or task id is too long. */
  #reply(message: Buffer | undefined, errorType?: string): void {
    const out = this.#out;
    if (out) this.#replyTo(out, message, errorType);
    else
      this.#settle((later) => {
        this.#replyTo(later, message, errorType);
      });
  }

  #replyTo(out: Answer, message: Buffer | undefined, errorType: string | undefined): void {
    if (message) out.reply(out.id === this.id ? message : withId(message, out.id), errorType);
    else out.error(CODE.internal, 'the state or task id of the backend is longer than the gateway forwards');
  }

  #replyTask(message: Buffer, errorType: string | undefined): void {
    const found = taskIdIn(message, scanBackendEnvelope(message).result);
    const [principal, method] = this.#binding();
    if (!declaresTasks(this.#session)) this.error(...TASKS_UNDECLARED);
    else if (method !== 'tools/call' || !found) {
      this.error(CODE.internal, 'the backend answered with a task where MCP has none, or with one without an id');
    } else {
      const origin = { backend: this.#backend, tool: this.#tool, taskId: found.id };
      const sealed = this.#rounds.tasks.seal(origin, principal);
      this.#reply(sealed === undefined ? undefined : withTaskId(message, found.span, sealed), errorType);
    }
  }

  end(ending: Ending): boolean {
    if (ending.kind !== 'refused') return this.#out?.end(ending) ?? false;
    this.#settle((out) => {
      out.end(ending);
    });
    return true;
  }

  drop(): void {
    this.#out?.drop();
    this.#out = undefined;
  }

  routed(name: string, backend: string): void {
    this.#tool = name;
    this.#backend = backend;
    this.#out?.routed?.(name, backend);
  }

  watchClient(call: WatchingCall): void {
    this.#call = call;
    this.#out?.watchClient(call);
  }

  unwatchClient(): void {
    this.#call = undefined;
    this.#out?.unwatchClient();
  }

  /** Answers the client now, or when it comes back. */
  #settle(answer: (out: Answer) => void): void {
    const out = this.#out;
    if (out === undefined) this.#late ??= answer;
    else answer(out);
  }

  #respond(id: string, member: string): void {
    const text = Buffer.from(`{"jsonrpc":"2.0","id":${id},${member}}`);
    this.#session.requests.answer(text, scanBackendEnvelope(text));
  }

  /** Asks the client for everything that the backend asks for at the same time. */
  #askSoon(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    setImmediate(() => {
      this.#isAsking = false;
      if (this.#out && this.#asked?.size) this.#ask(this.#out, this.#asked);
    });
  }

  #ask(out: Answer, asked: ReadonlyMap<string, string>): void {
    this.#hasAsked = true;
    this.#out = undefined;
    out.unwatchClient();
    const { states, suspended, replica } = this.#rounds;
    const state = states.seal({ handle: suspended.add(this), replica: replica() }, this.#binding());
    const requests = [...asked].map(([id, request]) => `"${id}":${request}`).join(',');
    out.result(`{"resultType":"input_required","inputRequests":{${requests}},"requestState":${JSON.stringify(state)}}`);
  }

  /** Returns a reply with the sealed state of the backend; undefined for a state that is too long. */
  #sealed(message: Buffer): Buffer | undefined {
    const { result } = scanBackendEnvelope(message);
    const inner = readString(message, memberOf(message, result, 'requestState'));
    if (!result || inner === undefined) return message;
    if (inner.length > LONGEST_STATE) return undefined;
    const state = this.#rounds.states.seal({ inner }, this.#binding());
    const sealed = withMember(message, result, 'requestState', JSON.stringify(state));
    return Buffer.concat([message.subarray(0, result.start), sealed, message.subarray(result.end)]);
  }
}

/** Returns a response with another id. */
function withId(message: Buffer, id: Buffer): Buffer {
  const { id: span } = scanBackendEnvelope(message);
  return span ? splice(message, { start: 0, end: message.length }, span, id) : errorMessage(id, CODE.internal, 'no id');
}
