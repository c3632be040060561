import type { Envelope } from '../../http/json-scan.ts';
import { isObjectSpan } from '../../http/json-walk.ts';

/**
 * Returns the reason why clients cannot read a response; undefined for a valid one. Clients drop a message without
 * exactly one object `result` or one object `error`, and then wait for ever. @see JSON-RPC 2.0 section 5
 */
export function replyFault(message: Buffer, { result, error }: Envelope): string | undefined {
  if (result !== undefined && error !== undefined) return 'the reply has a result and an error';
  if (result !== undefined && !isObjectSpan(message, result)) return 'the result is not an object';
  if (error !== undefined && !isObjectSpan(message, error)) return 'the error is not an object';
  return undefined;
}
