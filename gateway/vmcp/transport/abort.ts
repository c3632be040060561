import type { BackendFailure } from './channel.ts';

/** Why a caller does not wait any longer. */
export const failureOfAbort = ({ reason }: AbortSignal): BackendFailure =>
  reason instanceof Error && reason.name === 'TimeoutError'
    ? { kind: 'timeout', detail: 'opening the backend took too long' }
    : { kind: 'cancelled', detail: 'the channel is not wanted any more' };
