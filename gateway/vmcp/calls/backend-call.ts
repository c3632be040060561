import type { Envelope } from '../../http/json-scan.ts';
import type { Identity } from '../../contract/identity.ts';
import type { CredentialHeaders } from '../../outgoing/authenticator.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import type { QueuedCall } from '../budgets/call-gate.ts';
import type { Budget } from '../budgets/limits.ts';
import type { EndedCall, Peer } from '../../telemetry/call-observer.ts';
import { overloaded, TOO_LONG, type OnFailure } from './failure.ts';
import { errorTypeOfReply, outcomeOf } from './outcome.ts';
import { repairReply } from '../aggregation/repair/results.ts';
import type { Answer } from '../answers/answer.ts';
import type { Call } from '../call.ts';
import { CODE } from '../error-codes.ts';
import type { RunningCall } from '../running-calls.ts';
import type { Session } from '../session.ts';
import {
  BackendError,
  type BackendFailure,
  type BackendRequest,
  type Channel,
  type ReplySink,
  type RequestHandle,
} from '../transport/channel.ts';
import type { BackendRuntime } from '../backends/backend.ts';

/**
 * One client request to one backend. Waits in a queue while too many calls run, opens the session's channel when
 * necessary, is repeated once when the backend has lost its session (and so did not execute it), reports the outcome
 * to the circuit, and forwards the reply.
 */
export class BackendCall implements ReplySink, RunningCall, QueuedCall, EndedCall {
  readonly id: string;
  readonly session: Session;
  readonly method: string;
  readonly name: string;
  failure: BackendFailure['kind'] | undefined;
  errorType: string | undefined;
  durationMs = 0;
  place = -1;
  readonly originalName: string;
  readonly #backend: BackendRuntime;
  #request: BackendRequest;
  readonly #identity: Identity | undefined;
  readonly #answer: Answer;
  readonly #onFailure: OnFailure;
  readonly #onReply: ((message: Buffer) => void) | undefined;
  readonly #startedAt: number;
  /** The longest reply that policies allow. */
  maxReplyBytes = Infinity;
  /** Set only while the observer reads the call. */
  #reply: Buffer | undefined;
  /** Budget share of the body that `#request` is a part of. */
  #held: HeldBytes | undefined;
  /** Budget share of a reply that is collected before it is forwarded. */
  #collected: HeldBytes | undefined;
  /** Set while the call is queued. */
  #queueTimer: NodeJS.Timeout | undefined;
  /** True while the call counts as one of the running calls of the backend. */
  #hasPlace = false;
  /** True after `BackendRuntime.started`. */
  #started = false;
  /** The exceeded budget. */
  #overBudget: Budget | undefined;
  #channel: Channel | undefined;
  #handle: RequestHandle | undefined;
  #cancelled: string | undefined;
  #retried = false;
  /** True when the body is released. */
  #taken = false;
  /** Credential of the last attempt. */
  #sent: CredentialHeaders | undefined;
  #retriedCredential = false;
  #ended = false;

  constructor(
    backend: BackendRuntime,
    { session, identity, answer, fail, onReply, held }: Call,
    request: BackendRequest,
    name: string,
    originalName: string,
  ) {
    this.method = request.method;
    this.name = name;
    this.originalName = originalName;
    this.#held = held;
    this.#backend = backend;
    this.session = session;
    this.#identity = identity;
    this.#request = request;
    this.#answer = answer;
    this.#onFailure = fail;
    this.#onReply = onReply;
    this.id = request.id.toString('latin1');
    this.#startedAt = backend.now();
  }

  get backend(): string {
    return this.#backend.name;
  }

  get peer(): Peer {
    return this.#backend.peer;
  }

  get backendRevision(): string | undefined {
    return this.#channel?.facts.revision;
  }

  get outcome(): EndedCall['outcome'] {
    return outcomeOf(this.failure, this.#reply);
  }

  get isSent(): boolean {
    return this.#started;
  }

  start(): void {
    const entered = this.#backend.gate.enter(this.session.principal, this);
    if (entered === 'full') {
      this.session.account.refused('queued_calls');
      this.#observe('overloaded');
      this.#onFailure(this.#answer, overloaded('queued_calls'), this.#backend);
      return;
    }
    this.#held?.retain();
    this.session.running.add(this);
    this.#hasPlace = entered === 'running';
    if (this.#hasPlace) this.admitted();
    else this.#queueTimer = setTimeout(onQueuedTooLong, this.#request.timeoutMs, this);
    if (!this.#ended) this.#answer.watchClient(this);
  }

  admitted(): void {
    clearTimeout(this.#queueTimer);
    this.#hasPlace = true;
    const retryAfterSeconds = this.#backend.circuit.refuses();
    if (retryAfterSeconds !== undefined) {
      this.fail({ kind: 'circuit_open', detail: 'the circuit is open', retryAfterSeconds });
      return;
    }
    this.#started = true;
    this.#backend.started();
    this.#send();
  }

  queuedTooLong(): void {
    this.session.account.refused('queued_calls');
    this.fail(overloaded('queued_calls'));
  }

  clientLeft(): void {
    this.cancel('the client has left');
  }

  cancel(reason: string): void {
    if (this.#ended) return;
    this.#cancelled = reason;
    if (this.#handle) this.#handle.cancel(reason);
    else this.fail({ kind: 'cancelled', detail: reason });
  }

  pauseTimeout(): void {
    this.#handle?.pauseTimeout();
  }

  restartTimeout(): void {
    this.#handle?.restartTimeout();
  }

  /** Releases the body: the request can no longer be repeated. */
  taken(): void {
    this.#taken = true;
    this.#request = { ...this.#request, params: undefined };
    this.#releaseBody();
  }

  collecting(bytes: number): boolean {
    this.#collected ??= this.session.account.reply();
    if (this.#collected.resize(bytes)) return true;
    this.#overBudget = 'reply_bytes';
    this.session.account.refused('reply_bytes');
    return false;
  }

  reply(received: Buffer): void {
    if (received.length > this.maxReplyBytes) {
      this.fail(TOO_LONG);
      return;
    }
    const message = this.#repaired(received);
    this.#reply = message;
    this.#done('ok');
    this.#onReply?.(message);
    this.#answer.reply(message, this.errorType);
  }

  message(message: Buffer, envelope: Envelope): void {
    const [session, channel, answer] = [this.session, this.#channel, this.#answer];
    if (channel)
      this.#backend.onMessage({ session, backend: this.backend, channel, message, envelope, answer, call: this });
  }

  fail(failure: BackendFailure): void {
    if (this.#ended) return;
    if (failure.kind === 'session_lost' && !this.#retried && !this.#taken && !this.#answer.started) {
      this.#retried = true;
      this.#request = { ...this.#request, repeated: true };
      this.#handle = undefined;
      this.#send();
      return;
    }
    if (this.#backend.credentials.isRefusal(failure) && this.#mayRetryCredential()) {
      this.#retriedCredential = true;
      this.#handle = undefined;
      this.#send();
      return;
    }
    const reported = this.#asClientSees(failure);
    this.#done(reported.kind, reported.detail);
    if (this.#cancelled === undefined) this.#onFailure(this.#answer, reported, this.#backend);
    else if (this.session.ended) this.#answer.error(CODE.internal, 'the session ended before the reply came');
    else this.#answer.drop();
  }

  /** Returns the reply as the client can read it. */
  #repaired(message: Buffer): Buffer {
    const { item, client } = this.#request;
    const repaired = repairReply(this.method, message, this.backendRevision, client?.revision, this.originalName);
    if (!repaired) return message;
    this.#backend.replies.repaired(repaired.repairs, this.name, item);
    return repaired.reply;
  }

  #asClientSees(failure: BackendFailure): BackendFailure {
    return this.#overBudget ? overloaded(this.#overBudget) : this.#backend.credentials.asReported(failure);
  }

  /**
   * Returns true when the request may be sent once more with a new credential. A 401 means that it was not executed.
   */
  #mayRetryCredential(): boolean {
    if (this.#retriedCredential || this.#taken || this.#answer.started) return false;
    return this.#backend.credentials.refused(this.#identity, this.#sent);
  }

  #send(): void {
    const channel = this.#backend.channelOf(this.session);
    if (!(channel instanceof Promise)) {
      this.#sendOn(channel);
      return;
    }
    channel.then(
      (open) => {
        this.#sendOn(open);
      },
      (error: unknown) => {
        this.fail(this.#backend.failureOf(error));
      },
    );
  }

  #sendOn(channel: Channel): void {
    if (this.#ended) return;
    this.#channel = channel;
    try {
      const credential = this.#backend.credentials.of(this.#identity);
      if (credential instanceof Promise) this.#sendLater(channel, credential);
      else this.#sendWith(channel, credential);
    } catch (error) {
      this.fail(this.#backend.failureOf(error));
    }
  }

  #sendLater(channel: Channel, credential: Promise<CredentialHeaders>): void {
    onCredential(
      credential,
      this.#request.timeoutMs,
      (late) => {
        this.#sendWith(channel, late);
      },
      (error) => {
        this.fail(this.#backend.failureOf(error));
      },
    );
  }

  #sendWith(channel: Channel, credential: CredentialHeaders | undefined): void {
    if (this.#ended) return;
    this.#sent = credential;
    this.#handle = channel.request(credential ? { ...this.#request, credential } : this.#request, this);
  }

  #done(outcome: BackendFailure['kind'] | 'ok', detail?: string): void {
    this.#ended = true;
    this.session.running.delete(this);
    this.session.requests.release(this);
    this.#answer.unwatchClient();
    this.#releaseBody();
    this.#collected?.release();
    this.#leaveGate();
    if (this.#started) this.#backend.settled(outcome, this.session.principal, detail);
    this.#observe(outcome === 'ok' ? undefined : outcome);
  }

  #observe(failure: BackendFailure['kind'] | undefined): void {
    this.failure = failure;
    this.errorType = failure ?? (this.#reply && errorTypeOfReply(this.#reply));
    this.durationMs = this.#backend.now() - this.#startedAt;
    this.#backend.metrics.ended(this);
    this.#answer.trace?.received(this);
    this.#reply = undefined;
  }

  #releaseBody(): void {
    this.#held?.release();
    this.#held = undefined;
  }

  #leaveGate(): void {
    const { gate } = this.#backend;
    if (this.#hasPlace) gate.leave(this.session.principal);
    else {
      clearTimeout(this.#queueTimer);
      gate.withdraw(this.session.principal, this);
    }
  }
}

function onQueuedTooLong(call: BackendCall): void {
  call.queuedTooLong();
}

/** Waits for a credential no longer than for a reply. Calls `fail` with a `BackendError` after `timeoutMs`. */
function onCredential(
  credential: Promise<CredentialHeaders>,
  timeoutMs: number,
  use: (credential: CredentialHeaders) => void,
  fail: (error: unknown) => void,
): void {
  const timer = setTimeout(() => {
    fail(new BackendError({ kind: 'timeout', detail: `no credential after ${String(timeoutMs)} ms` }));
  }, timeoutMs);
  credential
    .finally(() => {
      clearTimeout(timer);
    })
    .then(use, fail);
}
