import { ProxyError } from '../../outbound/proxy/proxy-error.ts';
import { CredentialError } from '../../outgoing/authenticator.ts';
import { KeyValueStoreUnavailable } from '../../kvstore/key-value-store.ts';
import { BackendError, type BackendFailure } from './channel.ts';

/** Returns the failure of an answer that is not MCP. `detail` is for users too. */
export const garbage = (detail: string, cause = `its answer is not MCP: ${detail}`): BackendFailure => ({
  kind: 'garbage',
  detail,
  cause,
});

/** Seconds to wait before a retry while the source of credentials is unavailable. */
const CREDENTIAL_RETRY_SECONDS = 5;

/** Converts an error on the way to a backend: a failure, a missing credential, or a network error. */
export function failureOfError(thrown: unknown): BackendFailure {
  if (thrown instanceof BackendError) return thrown.failure;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error instanceof CredentialError) {
    const { fault, message: detail, provider } = error;
    if (fault !== 'unavailable') return { kind: fault, detail, provider };
    return { kind: 'credential_unavailable', detail, retryAfterSeconds: CREDENTIAL_RETRY_SECONDS };
  }
  if (error instanceof KeyValueStoreUnavailable) return { kind: 'store_unavailable', detail: error.message };
  if (error instanceof ProxyError) {
    const { kind, message } = error;
    return { kind: kind === 'timeout' ? 'timeout' : 'unavailable', detail: message, cause: message };
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  if (code === 'HPE_INVALID_CONSTANT' || code.startsWith('HPE_')) return garbage(`the reply is not HTTP (${code})`);
  const detail = error.message.includes(code) ? error.message : `${code}: ${error.message}`;
  return { kind: 'unavailable', detail };
}

/** Returns the failure for an HTTP response without a JSON-RPC reply. */
export function failureOfStatus(status: number, contentType: string, retryAfter: string | undefined): BackendFailure {
  const detail = `HTTP ${String(status)} with content type "${contentType.slice(0, 60).replace(/[^\w.+/-]/gu, '?')}"`;
  if (status === 401 || status === 403) return { kind: 'unauthenticated', detail, status };
  if (status === 404 || status === 400) return { kind: 'session_lost', detail };
  if (status === 409 || status === 410) return { kind: 'session_lost', detail, status };
  const retryAfterSeconds = Number(retryAfter);
  const hint = Number.isInteger(retryAfterSeconds) && retryAfterSeconds >= 0 ? { retryAfterSeconds } : {};
  const cause = `it answers HTTP ${String(status)}`;
  if (status >= 500) return { kind: 'unavailable', detail, cause, ...hint };
  if (status > 400) return { kind: 'refused', detail, cause, status, ...hint };
  return garbage(detail);
}
