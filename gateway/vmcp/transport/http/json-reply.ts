import { scanBackendEnvelope, ScanError, type Envelope } from '../../../http/json-scan.ts';
import { memberOf } from '../../../http/json-walk.ts';
import { BackendError, type BackendFailure } from '../channel.ts';

/** @see JSON-RPC 2.0 section 5.1 */
const METHOD_NOT_FOUND = '-32601';

/** Returns undefined for an error that is not JSON-RPC. Throws `ScanError` when the status promises a reply. */
export function scanReply(body: Buffer, status: number): Envelope | undefined {
  try {
    return scanBackendEnvelope(body);
  } catch (error) {
    if (status >= 400 && error instanceof ScanError) return undefined;
    throw error;
  }
}

/** Returns true for the reply with this id. A resumed stream may also carry replies to other requests. */
export const isReplyTo = (ownId: string, body: Buffer, { method, id }: Envelope): boolean =>
  method === undefined && id !== undefined && body.toString('latin1', id.start, id.end) === ownId;

/**
 * Returns true when a 404 to a request with a session id means that the session is lost: always for a first attempt. A
 * request repeated in a new session may get 404 for another reason: servers of 2026-07-28 answer unknown methods so.
 * @see MCP 2025-11-25, basic/transports, Session Management
 */
export function isLostSession(body: Buffer, { error }: Envelope, isRepeated = false): boolean {
  const code = isRepeated ? memberOf(body, error, 'code') : undefined;
  return !code || body.toString('latin1', code.start, code.end) !== METHOD_NOT_FOUND;
}

/** Returns the failure of a reply that could not be parsed. Throws every other error again. */
export function failureOfInvalid(error: unknown): BackendFailure {
  if (error instanceof ScanError) return { kind: 'garbage', detail: error.message };
  if (error instanceof BackendError) return error.failure;
  throw error;
}
