import type { Response } from 'express';

/** An operation has exceeded its time limit. */
export class OperationTimeout extends Error {
  constructor() {
    super('the operation took too long');
    this.name = 'OperationTimeout';
  }
}

/** Call with a time limit that ends when its client disconnects. */
export interface LimitedCall {
  /** Aborted at the end of the time limit, when the client disconnects, or by `abort`. */
  readonly signal: AbortSignal;
  /** Rejects with `OperationTimeout` at the end of the time limit. */
  readonly expired: Promise<never>;
  readonly abort: (reason: unknown) => void;
  readonly removeLimit: () => void;
  /** Releases the timer and the listener. */
  readonly end: () => void;
}

/** Starts the time limit of a call. */
export function limitTime(res: Response, ms: number): LimitedCall {
  const abort = new AbortController();
  const onClose = (): void => {
    if (!res.writableFinished) abort.abort(new Error('the client has disconnected'));
  };
  res.once('close', onClose);
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const timeout = new OperationTimeout();
      abort.abort(timeout);
      reject(timeout);
    }, ms);
  });
  const removeLimit = (): void => {
    clearTimeout(timer);
  };
  return {
    signal: abort.signal,
    expired,
    abort: (reason) => {
      abort.abort(reason);
    },
    removeLimit,
    end: () => {
      removeLimit();
      res.off('close', onClose);
    },
  };
}
