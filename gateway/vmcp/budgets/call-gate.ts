import { ANONYMOUS } from '../../contract/identity.ts';

export interface CallLimits {
  readonly running: number;
  readonly queued: number;
  /** Not applied to anonymous clients, who cannot be distinguished. */
  readonly runningPerPrincipal: number;
  readonly queuedPerPrincipal: number;
}

/** A call in the queue. */
export interface QueuedCall {
  /** Called when the call leaves the queue and runs. */
  admitted(): void;
}

/** Calls of one principal at one backend. */
class Line {
  running = 0;
  waiting: Set<QueuedCall> | undefined;
}

/** Limit of the running and queued calls of one backend. Waiting principals take turns. */
export class CallGate {
  readonly #limits: CallLimits;
  readonly #lines = new Map<string, Line>();
  /** Principals with queued calls, the next one first. */
  readonly #turns = new Set<string>();
  #running = 0;
  #queued = 0;
  #admitting = false;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queued;
  }

  /**
   * Admits a call at once or queues it. A running call must call `leave` at its end; a queued call may call `withdraw`.
   */
  enter(principal: string, call: QueuedCall): 'running' | 'queued' | 'full' {
    const line = this.#line(principal);
    if (this.#queued === 0 || line.waiting === undefined) {
      if (this.#hasRoom(principal, line)) {
        this.#running += 1;
        line.running += 1;
        return 'running';
      }
    }
    const { queued, queuedPerPrincipal } = this.#limits;
    const own = line.waiting?.size ?? 0;
    if (this.#queued >= queued || (principal !== ANONYMOUS && own >= queuedPerPrincipal)) {
      this.#forgetIdle(principal, line);
      return 'full';
    }
    (line.waiting ??= new Set()).add(call);
    this.#turns.add(principal);
    this.#queued += 1;
    return 'queued';
  }

  leave(principal: string): void {
    const line = this.#line(principal);
    this.#running -= 1;
    line.running -= 1;
    this.#forgetIdle(principal, line);
    if (this.#queued > 0) this.#admit();
  }

  withdraw(principal: string, call: QueuedCall): void {
    const line = this.#lines.get(principal);
    if (!line?.waiting?.delete(call)) return;
    this.#queued -= 1;
    this.#closeQueue(principal, line);
  }

  #line(principal: string): Line {
    let line = this.#lines.get(principal);
    if (line === undefined) this.#lines.set(principal, (line = new Line()));
    return line;
  }

  #hasRoom(principal: string, { running }: Line): boolean {
    if (this.#running >= this.#limits.running) return false;
    return principal === ANONYMOUS || running < this.#limits.runningPerPrincipal;
  }

  /** Admits queued calls in a loop: a call that ends at once calls `leave`, which must not recurse. */
  #admit(): void {
    if (this.#admitting) return;
    this.#admitting = true;
    try {
      for (let call = this.#next(); call; call = this.#next()) call.admitted();
    } finally {
      this.#admitting = false;
    }
  }

  #next(): QueuedCall | undefined {
    for (const principal of this.#turns) {
      const line = this.#line(principal);
      if (!this.#hasRoom(principal, line)) continue;
      const [call] = line.waiting ?? [];
      if (call === undefined) continue;
      line.waiting?.delete(call);
      this.#queued -= 1;
      this.#running += 1;
      line.running += 1;
      this.#turns.delete(principal);
      if (line.waiting?.size) this.#turns.add(principal);
      else line.waiting = undefined;
      return call;
    }
    return undefined;
  }

  #closeQueue(principal: string, line: Line): void {
    if (line.waiting?.size !== 0) return;
    line.waiting = undefined;
    this.#turns.delete(principal);
    this.#forgetIdle(principal, line);
  }

  #forgetIdle(principal: string, line: Line): void {
    if (line.running === 0 && line.waiting === undefined) this.#lines.delete(principal);
  }
}
