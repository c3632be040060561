import { toUpstreamError, UpstreamError } from '../../../authserver/upstream/upstream-error.ts';
import { MAX_DOCUMENT_BYTES } from '../../../authserver/upstream/protocol/transport.ts';
import { parseObject, type JsonObject } from '../../../contract/json.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import { OutboundError, type OutboundFault } from '../../../outbound/outbound-error.ts';

const TIMEOUT_MS = 10_000;
/** A page of a server that does not know the URL, such as its login page. */
const NO_DOCUMENT: ReadonlySet<OutboundFault> = new Set(['redirect', 'too_large']);

/** Returns the JSON document at a URL; undefined when there is none. Rejects with `UpstreamError`. */
export async function fetchDocument(url: string, outbound: Outbound, what: string): Promise<JsonObject | undefined> {
  const reply = await outbound
    .request({
      ...{ url, method: 'GET', headers: { accept: 'application/json' }, followRedirects: true },
      ...{ maxBytes: MAX_DOCUMENT_BYTES, timeoutMs: TIMEOUT_MS },
    })
    .catch((error: unknown) => {
      if (error instanceof OutboundError && NO_DOCUMENT.has(error.kind)) return undefined;
      throw toUpstreamError(error, { what, status: undefined });
    });
  if (!reply) return undefined;
  const { status, body } = reply;
  if (status >= 500 || status === 429) throw toUpstreamError(undefined, { what, status });
  return status === 200 ? parseObject(body) : undefined;
}

/**
 * Returns the first result of `read`. If no URL has a document, rejects with the `UpstreamError` of a server that could
 * not answer.
 */
export async function firstOf<Value>(
  urls: readonly string[],
  read: (url: string) => Promise<Value | undefined>,
): Promise<Value | undefined> {
  let failure: UpstreamError | undefined;
  for (const url of urls) {
    try {
      const value = await read(url);
      if (value !== undefined) return value;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      failure ??= error;
    }
  }
  if (failure) throw failure;
  return undefined;
}
