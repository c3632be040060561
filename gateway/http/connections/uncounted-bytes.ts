import type { IncomingMessage } from 'node:http';
import type { ClientConnection } from './closable-connections.ts';

const KIB = 1024;
/** Most bytes of requests that no budget counts, from all clients of a listener together. */
const MOST_BYTES = 48 * KIB * KIB;
/** Most bytes that a connection holds: a head, or the unread part of a body. */
const MOST_OF_ONE = 128 * KIB;
/** A connection with fewer stays open: requests without a body are shorter. */
const FEW_BYTES = 8 * KIB;
/** Bytes behind a request, of the next one, that a client may have sent when the response ends. */
const MOST_AHEAD = 16 * KIB;

/**
 * Returns the connections to close because clients hold too much memory with heads and bodies that they do not complete, or that nobody
 * reads yet: Node.js keeps up to 64 KiB of a head, and as much of a body. The connections that have done nothing for
 * the longest time come first: other requests take some ms. Pure.
 */
export function overweight(...groups: readonly Iterable<ClientConnection>[]): ClientConnection[] {
  const heavy: { readonly connection: ClientConnection; readonly bytes: number }[] = [];
  let total = 0;
  for (const group of groups) {
    for (const connection of group) {
      if (connection.isCounted) continue;
      const bytes = Math.min(connection.socket.bytesRead - connection.readBefore, MOST_OF_ONE);
      if (bytes < FEW_BYTES) continue;
      total += bytes;
      heavy.push({ connection, bytes });
    }
  }
  const closed: ClientConnection[] = [];
  if (total <= MOST_BYTES) return closed;
  heavy.sort((a, b) => a.connection.since - b.connection.since);
  for (const { connection, bytes } of heavy) {
    closed.push(connection);
    total -= bytes;
    if (total <= MOST_BYTES / 2) break;
  }
  return closed;
}

/**
 * Returns true if the client has sent much more than `req`, of `sent` bytes: these could no longer be told from those of later
 * requests. No known client sends a request before it has the response to the one before. Pure.
 */
export function isFarAhead(sent: number, req: IncomingMessage, bodyBytes: number): boolean {
  if (sent <= MOST_AHEAD) return false;
  const head = req.rawHeaders.reduce((bytes, text) => bytes + text.length + 2, (req.url ?? '').length);
  const body = Math.max(Number(req.headers['content-length'] ?? 0), bodyBytes * (1 + FRAMING_SHARE));
  return sent - head - body > MOST_AHEAD;
}

/** Bytes of the chunks of a body beside those of the body, as a share of these: clients send chunks of 100 bytes or more. */
const FRAMING_SHARE = 1 / 8;
