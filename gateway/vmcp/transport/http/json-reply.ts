import { readString, scanBackendEnvelope, ScanError, type Envelope, type Span } from '../../../http/json-scan.ts';
import { isObjectSpan, memberOf } from '../../../http/json-walk.ts';
import { CODE } from '../../error-codes.ts';
import { BackendError, type BackendFailure, type BackendRequest } from '../channel.ts';
import { garbage } from '../failure.ts';
import { numberOfId } from '../reply.ts';
import type { ExchangeHost } from './exchange-host.ts';

/**
 * Reads the JSON body of a reply to `request`. Returns the envelope of the reply, or another reply for the client in place of it.
 * Undefined when its status says what failed: the backend has no reply, or has lost the session. Throws `ScanError` when the
 * status promises a reply.
 */
export function replyIn(
  body: Buffer,
  status: number,
  ownId: string,
  { id, method, repeated }: BackendRequest,
  host: ExchangeHost,
): Envelope | Buffer | undefined {
  if (status >= 500 || status === 401 || status === 403) return undefined;
  const envelope = scanReply(body, status);
  if (!envelope) return undefined;
  const isOwn = isReplyTo(ownId, body, envelope);
  if (status < 400) return isOwn ? envelope : undefined;
  if (!isOwn) return status === 400 && host.hasSession ? otherError(body, envelope, id, repeated) : undefined;
  if (host.hasSession && isLostSession(status, body, envelope, repeated)) return undefined;
  return status === 400 && host.rejected?.(codeOf(body, envelope.error), method) === true ? undefined : envelope;
}

/** Returns undefined for an error that is not JSON-RPC. */
function scanReply(body: Buffer, status: number): Envelope | undefined {
  try {
    return scanBackendEnvelope(body);
  } catch (error) {
    if (status >= 400 && error instanceof ScanError) return undefined;
    throw error;
  }
}

/** Returns true for the reply with this id. A resumed stream may also carry replies to other requests. */
export const isReplyTo = (ownId: string, body: Buffer, { method, id }: Envelope): boolean =>
  method === undefined &&
  id !== undefined &&
  (body.toString('latin1', id.start, id.end) === ownId || numberOfId(body, id) === Number(ownId));

/** Statuses of requests in a session that the backend does not know any more. */
const LOST: ReadonlySet<number> = new Set([400, 404, 409, 410]);

/** Wording of an error about the session of the request, as SDKs and their examples have it. */
const ABOUT_SESSION = /session|not initiali[sz]ed|no (?:active )?transport|transport not found/iu;
/** Codes of errors about the request itself. */
const ABOUT_REQUEST: ReadonlySet<number> = new Set([CODE.parse, CODE.methodNotFound, CODE.invalidParams]);

/**
 * Returns true when the JSON reply to a request in a session means that the session is lost. A 404 always does for a first attempt. A
 * request repeated in a new session may get it for another reason: servers of 2026-07-28 answer unknown methods so. A 400
 * means it when its error says so. @see MCP 2025-11-25, basic/transports, Session Management
 */
function isLostSession(status: number, body: Buffer, { error }: Envelope, isRepeated = false): boolean {
  if (!LOST.has(status)) return false;
  const code = codeOf(body, error);
  if (status === 404) return !isRepeated || code !== CODE.methodNotFound;
  if (isRepeated) return false;
  return status !== 400 || (!ABOUT_REQUEST.has(code) && ABOUT_SESSION.test(messageOf(body, error)));
}

/**
 * Returns the reply to a request in a session for a 400 with an error that carries no id, or an unknown one, and is not about the
 * session. Undefined for another body.
 */
function otherError(body: Buffer, { error }: Envelope, clientId: Buffer, isRepeated = false): Buffer | undefined {
  if (!error || !isObjectSpan(body, error)) return undefined;
  const code = codeOf(body, error);
  const isOther = isRepeated || (ABOUT_REQUEST.has(code) && !ABOUT_SESSION.test(messageOf(body, error)));
  if (!isOther || !Number.isInteger(code)) return undefined;
  return Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":'),
    clientId,
    Buffer.from(',"error":'),
    body.subarray(error.start, error.end),
    Buffer.from('}'),
  ]);
}

const messageOf = (body: Buffer, error: Span | undefined): string =>
  readString(body, memberOf(body, error, 'message')) ?? '';

function codeOf(body: Buffer, error: Span | undefined): number {
  const code = memberOf(body, error, 'code');
  return code ? Number(body.toString('latin1', code.start, code.end)) : Number.NaN;
}

/** Returns the failure of a reply that could not be parsed. Throws every other error again. */
export function failureOfInvalid(error: unknown): BackendFailure {
  if (error instanceof ScanError) return garbage(error.message);
  if (error instanceof BackendError) return error.failure;
  throw error;
}
