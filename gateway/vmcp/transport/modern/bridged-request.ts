import { randomUUID } from 'node:crypto';
import { readString, scanBackendEnvelope, type Envelope } from '../../../http/json-scan.ts';
import { isObjectSpan, memberOf, splice, withMember } from '../../../http/json-walk.ts';
import { CODE } from '../../error-codes.ts';
import { errorMessage } from '../../message.ts';
import {
  LONGEST_HOLD_MS,
  type BackendFailure,
  type BackendRequest,
  type ReplySink,
  type RequestHandle,
} from '../channel.ts';
import { garbage } from '../failure.ts';
import { asOlderReply, readInputRequired, resultTypeOf, type InputRequired } from './result-text.ts';

const MOST_ROUNDS = 10;
/** Most results in a row that ask for nothing, and the pause before the request is repeated. */
const MOST_EMPTY_ROUNDS = 3;
const EMPTY_ROUND_MS = 200;

type Send = (request: BackendRequest, sink: ReplySink) => RequestHandle;

interface Question {
  readonly key: string;
  /** JSON text of the client's answer. */
  answer: string | undefined;
}

/**
 * One request of a client with a session, or of the gateway itself, to a backend without sessions. What the backend asks for becomes
 * requests in mid call, and the request is repeated with the answers. The reply is in the form of older revisions.
 */
export class BridgedRequest implements ReplySink, RequestHandle {
  readonly #send: Send;
  readonly #request: BackendRequest;
  readonly #sink: ReplySink;
  readonly #newId: () => string;
  readonly #onEnd: (request: BridgedRequest) => void;
  #handle: RequestHandle | undefined;
  /** Questions of the running round, by the JSON text of the id that the client answers. */
  #questions = new Map<string, Question>();
  #state: string | undefined;
  #rounds = 0;
  #emptyRounds = 0;
  #timer: NodeJS.Timeout | undefined;
  #isDone = false;

  constructor(
    request: BackendRequest,
    sink: ReplySink,
    send: Send,
    newId: () => string,
    onEnd: (request: BridgedRequest) => void,
  ) {
    this.#request = request;
    this.#sink = sink;
    this.#send = send;
    this.#newId = newId;
    this.#onEnd = onEnd;
    this.#handle = send(request, this);
  }

  reply(message: Buffer): void {
    const type = resultTypeOf(message);
    const needed = type === 'input_required' ? readInputRequired(message) : undefined;
    if (needed) this.#nextRound(needed);
    else if (type === 'task')
      this.#refuse('the backend answers with a task, which only clients of MCP 2026-07-28 can follow');
    else if (type !== 'complete') this.fail(garbage('a result of a type that MCP does not have'));
    else
      this.#end(() => {
        this.#sink.reply(this.#request.client ? asOlderReply(message) : message);
      });
  }

  collecting(bytes: number): boolean {
    return this.#sink.collecting?.(bytes) !== false;
  }

  message(message: Buffer, envelope: Envelope): void {
    this.#sink.message(message, envelope);
  }

  fail(failure: BackendFailure): void {
    this.#end(() => {
      this.#sink.fail(failure);
    });
  }

  cancel(reason: string): void {
    if (this.#handle) this.#handle.cancel(reason);
    else this.fail({ kind: 'cancelled', detail: reason });
  }

  pauseTimeout(): void {
    this.#handle?.pauseTimeout();
  }

  restartTimeout(): void {
    this.#handle?.restartTimeout();
  }

  /** Takes the response of the client to a question. Returns false when it answers another request. */
  answered(message: Buffer, { id, result, error }: Envelope): boolean {
    const question = id && this.#questions.get(message.toString('utf8', id.start, id.end));
    if (!question) return false;
    if (result) {
      question.answer = message.toString('utf8', result.start, result.end);
      const questions = [...this.#questions.values()];
      if (questions.every(({ answer }) => answer !== undefined)) this.#repeat(questions);
    } else if (error) {
      const text = message.toString('utf8', error.start, error.end);
      this.#refuse('the client did not answer a question of the backend', JSON.parse(text));
    }
    return true;
  }

  #nextRound({ requests, state }: InputRequired): void {
    this.#handle = undefined;
    this.#state = state;
    this.#rounds += 1;
    this.#emptyRounds = requests.size === 0 ? this.#emptyRounds + 1 : 0;
    if (this.#rounds > MOST_ROUNDS || this.#emptyRounds >= MOST_EMPTY_ROUNDS) {
      this.#refuse('the backend asks for input again and again');
      return;
    }
    if (requests.size === 0) {
      this.#timer = setTimeout(() => {
        this.#repeat([]);
      }, EMPTY_ROUND_MS);
      return;
    }
    this.#timer = setTimeout(() => {
      this.fail({ kind: 'timeout', detail: 'the client did not answer a question of the backend' });
    }, LONGEST_HOLD_MS);
    this.#questions = new Map([...requests.keys()].map((key) => [this.#newId(), { key, answer: undefined }]));
    for (const [id, { key }] of [...this.#questions]) this.#ask(id, requests.get(key) ?? '{}');
  }

  /** Sends one question to the client as a request. */
  #ask(id: string, request: string): void {
    if (this.#isDone) return;
    const text = withElicitationId(Buffer.from(request));
    const whole = { start: 0, end: text.length };
    const members = ['method', 'params'].flatMap((name) => {
      const span = memberOf(text, whole, name);
      return span ? [`"${name}":${text.toString('utf8', span.start, span.end)}`] : [];
    });
    const message = Buffer.from(`{${['"jsonrpc":"2.0"', `"id":${id}`, ...members].join(',')}}`);
    try {
      const envelope = scanBackendEnvelope(message);
      if (envelope.method === undefined) throw new Error('no method');
      this.#sink.message(message, envelope);
    } catch {
      this.fail(garbage('the backend asks for input in a form that is not MCP'));
    }
  }

  #repeat(questions: readonly Question[]): void {
    clearTimeout(this.#timer);
    this.#questions.clear();
    if (this.#isDone) return;
    const responses = questions.map(({ key, answer = '{}' }) => `${JSON.stringify(key)}:${answer}`);
    const members: [string, string][] = [];
    if (questions.length > 0) members.push(['inputResponses', `{${responses.join(',')}}`]);
    if (this.#state !== undefined) members.push(['requestState', JSON.stringify(this.#state)]);
    let params = this.#request.params ?? Buffer.from('{}');
    for (const [name, value] of members) params = withMember(params, { start: 0, end: params.length }, name, value);
    this.#handle = this.#send({ ...this.#request, params }, this);
  }

  #refuse(message: string, cause?: unknown): void {
    this.#end(() => this.#sink.reply(errorMessage(this.#request.id, CODE.internal, message, cause && { cause })));
  }

  #end(report: () => void): void {
    if (this.#isDone) return;
    this.#isDone = true;
    clearTimeout(this.#timer);
    this.#questions.clear();
    this.#onEnd(this);
    report();
  }
}

/**
 * Returns a question with an `elicitationId` where it leads to a URL: 2025-11-25 requires one, and 2026-07-28 has none.
 * @see MCP 2025-11-25, client/elicitation, URL Mode Elicitation Requests
 */
function withElicitationId(question: Buffer): Buffer {
  const whole = { start: 0, end: question.length };
  const params = isObjectSpan(question, whole) ? memberOf(question, whole, 'params') : undefined;
  if (!params || !isObjectSpan(question, params)) return question;
  const isPage =
    readString(question, memberOf(question, whole, 'method')) === 'elicitation/create' &&
    readString(question, memberOf(question, params, 'mode')) === 'url';
  if (!isPage || memberOf(question, params, 'elicitationId')) return question;
  const identified = withMember(question, params, 'elicitationId', JSON.stringify(randomUUID()));
  return splice(question, whole, params, identified);
}
