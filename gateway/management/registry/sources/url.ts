import { catalogIn } from '../document/catalog.ts';
import { shownOrigin, requireAccess } from './request.ts';
import type { RegistrySource } from './source.ts';

const TIMEOUT_MS = 10_000;

/** Document behind a URL. An unchanged document is not sent again, if the server supports ETag. @see RFC 9110 §13.1.2 */
export const url: RegistrySource = {
  type: 'url',
  isRemote: true,
  read: async (location, { request, readAt, known }) => {
    const etag = known?.etag;
    const headers = etag === undefined ? {} : { 'if-none-match': etag };
    const reply = await request(location, { timeoutMs: TIMEOUT_MS, headers });
    requireAccess(reply);
    if (reply.status === 304 && known) return known;
    const { status, body } = reply;
    const place =
      status < 400 ? shownOrigin(location) : `the answer of ${shownOrigin(location)} (status ${String(status)})`;
    return { catalog: catalogIn(body, place, readAt), etag: reply.headers['etag'] };
  },
};
