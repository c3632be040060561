import { BackendError, type BackendFailure } from './channel.ts';

/** Returns the failure of an aborted wait: a timeout, or a cancellation. */
export const failureOfAbort = ({ reason }: AbortSignal): BackendFailure =>
  reason instanceof Error && reason.name === 'TimeoutError'
    ? { kind: 'timeout', detail: 'opening the backend took too long' }
    : { kind: 'cancelled', detail: 'the channel is no longer needed' };

/** Returns what `waited` resolves to. Rejects with `BackendError` when `signal` is aborted before. */
export async function unlessAborted<T>(waited: T | Promise<T>, signal: AbortSignal): Promise<T> {
  if (!(waited instanceof Promise)) return waited;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(new BackendError(failureOfAbort(signal)));
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([waited, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
