import { scanBackendEnvelope } from '../../http/json-scan.ts';
import { memberOf } from '../../http/json-walk.ts';
import type { CallOutcome } from '../../telemetry/call-observer.ts';

/** Classifies a call by the kind of its failure, else by the reply of its backend. */
export function outcomeOf(failure: string | undefined, reply: Buffer | undefined): CallOutcome {
  switch (failure) {
    case undefined:
      return reply ? outcomeOfReply(reply) : 'ok';
    case 'denied':
    case 'challenged':
      return 'denied';
    case 'cancelled':
    case 'timeout':
      return failure;
    default:
      return 'unavailable';
  }
}

function outcomeOfReply(reply: Buffer): CallOutcome {
  const { error, result } = scanBackendEnvelope(reply);
  if (error) return 'error';
  const isError = memberOf(reply, result, 'isError');
  return isError && reply.toString('latin1', isError.start, isError.end) === 'true' ? 'tool_error' : 'ok';
}
