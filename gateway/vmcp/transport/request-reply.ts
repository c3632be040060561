import type { Envelope } from '../../http/json-scan.ts';
import type { CredentialHeaders } from '../../outgoing/authenticator.ts';
import { failureOfAbort } from './abort.ts';
import { BackendError, type BackendRequest, type Channel, type ReplySink, type RequestHandle } from './channel.ts';

/**
 * Sends one request and waits for the whole reply. Rejects with `BackendError`. Messages before the reply go to
 * `onMessage`.
 */
export function requestReply(
  send: (request: BackendRequest, sink: ReplySink) => RequestHandle,
  request: BackendRequest,
  options: { readonly signal?: AbortSignal; readonly onMessage?: (message: Buffer, envelope: Envelope) => void } = {},
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cancel = (): void => {
      handle.cancel('no longer needed');
    };
    const settled = (): void => {
      options.signal?.removeEventListener('abort', cancel);
    };
    const handle = send(request, {
      reply: (message) => {
        settled();
        resolve(message);
      },
      message: (message, envelope) => options.onMessage?.(message, envelope),
      fail: (failure) => {
        settled();
        const { signal } = options;
        reject(new BackendError(failure.kind === 'cancelled' && signal?.aborted ? failureOfAbort(signal) : failure));
      },
    });
    if (options.signal?.aborted) cancel();
    else options.signal?.addEventListener('abort', cancel, { once: true });
  });
}

const OWN_ID = Buffer.from('0');

/** Sends one request of the gateway over an open channel. The reply carries the id 0. */
export const ask = (
  channel: Channel,
  method: string,
  params: string | undefined,
  timeoutMs: number,
  { signal, credential }: { readonly signal?: AbortSignal; readonly credential?: CredentialHeaders | undefined } = {},
): Promise<Buffer> =>
  requestReply(
    (request, sink) => channel.request(request, sink),
    { method, params: params === undefined ? undefined : Buffer.from(params), id: OWN_ID, timeoutMs, credential },
    signal ? { signal } : {},
  );
