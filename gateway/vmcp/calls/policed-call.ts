import { methodOf } from '../../contract/protocol/methods.ts';
import type { Identity } from '../../contract/identity.ts';
import { hasTooManyMembers, memberTexts } from '../../http/known-members.ts';
import type { ListedItem, PolicyCall } from '../../policy/policy.ts';
import type { CallObserver, EndedCall } from '../../telemetry/call-observer.ts';
import type { Answer, WatchingCall } from '../answers/answer.ts';
import type { Call } from '../call.ts';
import { OPEN_OBJECT } from '../../http/json-walk.ts';
import { CODE } from '../error-codes.ts';
import type { RunningCall } from '../running-calls.ts';
import type { Session } from '../session.ts';
import { outcomeOf } from './outcome.ts';

/** One call while policies decide on it. The client can cancel it like a running call. */
export class PolicedCall implements PolicyCall, EndedCall, RunningCall, WatchingCall {
  readonly session: Session;
  readonly method: string;
  readonly item: ListedItem;
  readonly identity: Identity | undefined;
  arguments: Buffer | undefined;
  /** Arguments that a policy has set in place of those of the client. */
  replaced: Buffer | undefined;
  readonly isSent = false;
  failure: string | undefined;
  durationMs = 0;
  place = -1;
  readonly answer: Answer;
  readonly #observer: CallObserver;
  readonly #now: () => number;
  readonly #startedAt: number;
  #aborted: AbortController | undefined;

  constructor(
    { session, body, envelope, params, identity, answer }: Call,
    item: ListedItem,
    { observer, now }: { readonly observer: CallObserver; readonly now: () => number },
  ) {
    this.session = session;
    this.method = envelope.method ?? '';
    this.item = item;
    this.identity = identity;
    if (this.#hasArguments && params.arguments)
      this.arguments = body.subarray(params.arguments.start, params.arguments.end);
    this.answer = answer;
    this.#observer = observer;
    this.#now = now;
    this.#startedAt = now();
  }

  get name(): string {
    return this.item.name;
  }

  get backend(): string {
    return this.item.backend;
  }

  readArguments(isRead: (name: string) => boolean = () => true): ReadonlyMap<string, string> | undefined {
    return this.arguments && memberTexts(this.arguments, isRead);
  }

  get hasTooManyArguments(): boolean {
    const text = this.arguments;
    return text !== undefined && hasTooManyMembers(text, { start: 0, end: text.length });
  }

  /** Sets the arguments of the call. @throws Error for a method without arguments, and for text that is no object */
  replaceArguments(text: Buffer): void {
    if (!this.#hasArguments) throw new Error(`a policy set arguments of ${this.method}, which has none`);
    if (text[0] !== OPEN_OBJECT) throw new Error('a policy set arguments that are not an object');
    this.arguments = text;
    this.replaced = text;
  }

  get id(): string {
    return this.answer.id.toString('latin1');
  }

  get errorType(): string | undefined {
    return this.failure;
  }

  get outcome(): EndedCall['outcome'] {
    return outcomeOf(this.failure, undefined);
  }

  get signal(): AbortSignal {
    return (this.#aborted ??= new AbortController()).signal;
  }

  get #hasArguments(): boolean {
    return methodOf(this.method).hasArguments === true;
  }

  /** True after `cancel`, which has answered the client. */
  get isCancelled(): boolean {
    return this.failure === 'cancelled';
  }

  /** Lets the client cancel the call until `unwatch`. */
  watch(): void {
    this.session.running.add(this);
    this.answer.watchClient(this);
  }

  unwatch(): void {
    this.session.running.delete(this);
    this.answer.unwatchClient();
  }

  clientLeft(): void {
    this.cancel('the client has left');
  }

  cancel(reason: string): void {
    if (this.failure !== undefined) return;
    this.unwatch();
    this.end('cancelled');
    this.#aborted?.abort(new Error(reason));
    if (this.session.ended) this.answer.error(CODE.internal, 'the session ended before the reply came');
    else this.answer.drop();
  }

  /** Notifies the observer of the end of the call. */
  end(failure: string): void {
    this.failure = failure;
    this.durationMs = this.#now() - this.#startedAt;
    this.#observer.ended(this);
  }
}
