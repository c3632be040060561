import { scanBackendEnvelope } from '../../http/json-scan.ts';
import { memberOf } from '../../http/json-walk.ts';
import { shortText } from '../../http/short-text.ts';
import type { CallOutcome } from '../../telemetry/call-observer.ts';
import { OTHER } from '../../telemetry/operation-series.ts';
import { isPlainResult } from '../aggregation/repair/results.ts';

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
  const errorType = errorTypeOfReply(reply);
  if (errorType === undefined || errorType === 'tool_error') return errorType ?? 'ok';
  return 'error';
}

/** The end of `"error"` and of `"isError"`. */
const MARK = 'rror"';

const NO_ERROR = '"isError":false';

/** Returns false for a reply without `"error"` and without another `"isError"` than `false`. */
function mayBeError(reply: string | Buffer): boolean {
  const at = reply.indexOf(MARK);
  if (at === -1) return false;
  const isFalse = typeof reply === 'string' && reply.startsWith(NO_ERROR, at - NO_ERROR.indexOf(MARK));
  return !isFalse || reply.includes(MARK, at + 1);
}

/** Returns the JSON-RPC code in a reply, `tool_error` for a result with `isError`, and undefined for a success. */
export function errorTypeOfReply(reply: Buffer): string | undefined {
  // searches are faster than a scan
  if (isPlainResult(reply) || !mayBeError(shortText(reply) ?? reply)) return undefined;
  const { error, result } = scanBackendEnvelope(reply);
  if (error) {
    const code = memberOf(reply, error, 'code');
    const text = code && reply.toString('latin1', code.start, code.end);
    return text !== undefined && /^-?\d{1,10}$/u.test(text) ? text : OTHER;
  }
  const isError = memberOf(reply, result, 'isError');
  return isError && reply.toString('latin1', isError.start, isError.end) === 'true' ? 'tool_error' : undefined;
}
