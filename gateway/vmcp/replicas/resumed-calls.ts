import { setTimeout as sleep } from 'node:timers/promises';
import { scanBackendEnvelope, type Envelope } from '../../http/json-scan.ts';
import type { Answer, WatchingCall } from '../answers/answer.ts';
import type { Ending, Refused } from '../answers/ending.ts';
import type { Budget } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';
import type { Mailbox } from './messages.ts';
import { SerialQueue } from '../../kit/tasks.ts';
import { afterTimeout, within } from '../../kit/time.ts';

/** Longest wait for the replica with the call, and the interval at which it is checked. */
const ANSWER_MS = 2_000;
const CHECK_EVERY_MS = 2_000;
/** Longest body of one message: a longer reply is sent in pieces. */
const PIECE_BYTES = 256 * 1024;

/** A call that waits for the answers of its client. */
export interface ResumableCall {
  /** `responses` are JSON texts by the keys of their requests. */
  resume(out: Answer, responses: ReadonlyMap<string, string>): void;
  /** Cancels the call: its client does not continue it. */
  abandon(): void;
}

/** Answers the error for a call that does not wait any more. */
export const answerCallEnded = (answer: Answer): void => {
  const message = 'the call does not wait for input any more: send the request again without "requestState"';
  answer.error(CODE.internal, message, { reason: 'call_ended' });
};

/** A client of this replica that waits for a call of another one. */
interface Waiting {
  readonly answer: Answer;
  readonly accepted: PromiseWithResolvers<boolean>;
  /** Pieces of a long reply. */
  readonly pieces: Buffer[];
  /** True when the replica has no answer for the client any more. */
  isGone: boolean;
}

/**
 * Calls that wait for input at one replica while their client answers at another one. The client's answers go to the
 * replica with the call, and the reply comes back.
 */
export class ResumedCalls {
  readonly #mailbox: Mailbox;
  readonly #waiting = new Map<string, Waiting>();
  readonly #remote = new Map<string, RemoteAnswer>();
  #take: ((handle: string) => ResumableCall | undefined) | undefined;
  #last = 0;

  constructor(mailbox: Mailbox) {
    this.#mailbox = mailbox;
    mailbox.on('resume', ({ handle, ticket, id }, body, from) => {
      const call = this.#take?.(handle);
      const step = (name: string, args: readonly unknown[] = [], bytes?: Buffer) =>
        mailbox.send(from, 'answer', { ticket, step: name, args }, bytes);
      if (!call) {
        step('gone').catch(() => undefined);
        return;
      }
      step('accepted').catch(() => undefined);
      const answer = new RemoteAnswer(Buffer.from(id), step, () => this.#remote.delete(ticket));
      this.#remote.set(ticket, answer);
      call.resume(answer, new Map(JSON.parse(body.toString()) as [string, string][]));
    });
    mailbox.on('abandon', ({ handle }) => this.#take?.(handle)?.abandon());
    mailbox.on('waiting', ({ ticket }, _body, from) => {
      if (!this.#remote.has(ticket)) mailbox.post(from, 'answer', { ticket, step: 'gone', args: [] });
    });
    mailbox.on('left', ({ ticket }) => {
      this.#remote.get(ticket)?.clientLeft();
    });
    mailbox.on('answer', ({ ticket, step, args }, body) => {
      this.#receive(ticket, step, args, Buffer.from(body));
    });
  }

  /** `take` removes and returns a waiting call of this process. */
  serve(take: (handle: string) => ResumableCall | undefined): void {
    this.#take = take;
  }

  /** Continues a call that waits at `replica`. */
  async resume(replica: string, handle: string, responses: ReadonlyMap<string, string>, answer: Answer): Promise<void> {
    const mailbox = this.#mailbox;
    const ticket = `${mailbox.replica}${String((this.#last += 1))}`;
    const waiting: Waiting = { answer, accepted: Promise.withResolvers<boolean>(), pieces: [], isGone: false };
    this.#waiting.set(ticket, waiting);
    const body = Buffer.from(JSON.stringify([...responses]));
    try {
      await mailbox.send(replica, 'resume', { handle, ticket, id: answer.id.toString() }, body);
    } catch (error) {
      // the message may have arrived all the same
      if (!this.#waiting.delete(ticket)) return;
      mailbox.post(replica, 'left', { ticket });
      throw error;
    }
    const isAccepted = await within(ANSWER_MS, waiting.accepted.promise, false, { after: afterTimeout });
    if (!isAccepted) {
      if (this.#waiting.delete(ticket)) answerCallEnded(answer);
      return;
    }
    if (!this.#waiting.has(ticket)) return;
    answer.watchClient({
      clientLeft: () => {
        if (!this.#waiting.delete(ticket)) return;
        mailbox.post(replica, 'left', { ticket });
        answer.drop();
      },
    });
    await this.#watch(ticket, replica, waiting);
  }

  /** Cancels a call that waits at `replica`. If the message is lost, the call ends when it has waited too long. */
  abandon(replica: string, handle: string): void {
    this.#mailbox.post(replica, 'abandon', { handle });
  }

  /** Answers an error when the replica with the call stops, or when its answer was lost. */
  async #watch(ticket: string, replica: string, waiting: Waiting): Promise<void> {
    const { answer } = waiting;
    while (this.#waiting.has(ticket)) {
      await sleep(CHECK_EVERY_MS, undefined, { ref: false });
      const isRunning = !waiting.isGone && (await this.#mailbox.isRunning(replica).catch(() => true));
      if (isRunning) this.#mailbox.post(replica, 'waiting', { ticket });
      if (isRunning || !this.#waiting.delete(ticket)) continue;
      answer.unwatchClient();
      answerCallEnded(answer);
    }
  }

  #receive(ticket: string, step: string, args: readonly unknown[], body: Buffer): void {
    const waiting = this.#waiting.get(ticket);
    if (!waiting) return;
    if (step === 'accepted' || step === 'gone') {
      waiting.isGone = step === 'gone';
      waiting.accepted.resolve(!waiting.isGone);
      return;
    }
    waiting.accepted.resolve(true);
    if (step === 'piece') {
      waiting.pieces.push(body);
      return;
    }
    const isLast = play(waiting.answer, step, args, Buffer.concat([...waiting.pieces, body]));
    if (!isLast) return;
    this.#waiting.delete(ticket);
    waiting.answer.unwatchClient();
  }
}

/** Repeats a step of a `RemoteAnswer` on the client's answer. Returns true for the last one. */
function play(answer: Answer, step: string, args: readonly unknown[], body: Buffer): boolean {
  switch (step) {
    case 'message':
      answer.message(body, scanBackendEnvelope(body));
      return false;
    case 'reply':
      answer.reply(body, args[0] as string | undefined);
      return true;
    case 'result':
      answer.result(body, args[0] as string | undefined);
      return true;
    case 'error':
      answer.error(args[0] as number, args[1] as string, args[2]);
      return true;
    case 'refuse':
      return answer.end({ ...(args[0] as Refused), kind: 'refused' });
    case 'challenge':
      return answer.end({ kind: 'challenged', message: args[0] as string, scopes: args[1] as string[] | undefined });
    case 'unavailable':
      return answer.end({ kind: 'store_unavailable', message: args[0] as string });
    case 'busy':
      return answer.end({ kind: 'overloaded', message: args[0] as string, budget: args[1] as Budget });
    default:
      answer.drop();
      return true;
  }
}

type Step = (name: string, args?: readonly unknown[], bytes?: Buffer) => Promise<void>;

/** Answer to a client of another replica. */
class RemoteAnswer implements Answer {
  readonly id: Buffer;
  started = false;
  readonly #step: Step;
  readonly #onEnd: () => void;
  #call: WatchingCall | undefined;
  /** Steps that the store has not passed on yet: they keep their order. */
  readonly #sent = new SerialQueue();

  constructor(id: Buffer, step: Step, onEnd: () => void) {
    this.id = id;
    this.#step = step;
    this.#onEnd = onEnd;
  }

  clientLeft(): void {
    this.#onEnd();
    this.#call?.clientLeft();
  }

  message(message: Buffer, _envelope: Envelope): void {
    this.started = true;
    this.#send('message', [], message);
  }

  reply(message: Buffer, errorType?: string): void {
    let at = 0;
    for (; message.length - at > PIECE_BYTES; at += PIECE_BYTES)
      this.#send('piece', [], message.subarray(at, at + PIECE_BYTES));
    this.#last('reply', [errorType], message.subarray(at));
  }

  result(result: Buffer | string, errorType?: string): void {
    this.#last('result', [errorType], Buffer.from(result));
  }

  error(code: number, message: string, data?: unknown): void {
    this.#last('error', [code, message, data]);
  }

  end(ending: Ending): boolean {
    const { kind, message } = ending;
    if (kind === 'refused') {
      this.#last('refuse', [ending]);
      return true;
    }
    if (this.started) return false;
    if (kind === 'challenged') this.#last('challenge', [message, ending.scopes]);
    else if (kind === 'overloaded') this.#last('busy', [message, ending.budget]);
    else this.#last('unavailable', [message]);
    return true;
  }

  drop(): void {
    this.#last('drop');
  }

  watchClient(call: WatchingCall): void {
    this.#call = call;
  }

  unwatchClient(): void {
    this.#call = undefined;
  }

  #last(step: string, args: readonly unknown[] = [], bytes?: Buffer): void {
    this.started = true;
    this.#send(step, args, bytes);
    void this.#sent.ended().then(this.#onEnd);
  }

  #send(step: string, args: readonly unknown[] = [], bytes?: Buffer): void {
    // a client that the store keeps from its reply notices that its replica has stopped, or leaves
    this.#sent.run(() => this.#step(step, args, bytes)).catch(() => undefined);
  }
}
