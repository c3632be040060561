import type { ClientRequest } from '../client-request.ts';
import type { Answer } from '../edge/answer.ts';
import { CODE } from '../error-codes.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { stackOf } from '../../telemetry/log.ts';

/**
 * Continues a request when `ready` resolves; its body is kept until then. A fault of ours there is answered and logged:
 * nobody else would.
 */
export function later<T>(
  server: VirtualServer,
  { held }: ClientRequest,
  answer: Answer,
  ready: Promise<T>,
  goOn: (value: T) => void,
): void {
  held?.retain();
  ready
    .then(goOn)
    .catch((error: unknown) => {
      server.log.error('request failed unexpectedly', {
        error: stackOf(error),
      });
      if (!answer.started) answer.error(CODE.internal, 'internal error');
    })
    .finally(() => held?.release());
}
