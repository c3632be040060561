import type { Call } from '../call.ts';
import { CODE } from '../error-codes.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { stackOf } from '../../telemetry/log.ts';

/**
 * Continues a request when `ready` resolves, and retains its body until then. Answers and logs errors of the
 * continuation.
 */
export function later<T>(
  server: VirtualServer,
  { held, answer }: Pick<Call, 'held' | 'answer'>,
  ready: Promise<T>,
  onReady: (value: T) => void,
): void {
  held?.retain();
  ready
    .then(onReady)
    .catch((error: unknown) => {
      server.log.error('request failed unexpectedly', {
        error: stackOf(error),
      });
      if (!answer.started) answer.error(CODE.internal, 'internal error');
    })
    .finally(() => held?.release());
}
