import type { Socket } from 'node:net';

/** A reply that a connection still has to carry. */
export interface AwaitedReply {
  connectionClosed(): void;
}

/**
 * Replies by connection. One listener serves a connection for its whole life: one for each call would be a fifth of
 * what a call allocates.
 */
const AWAITED = new WeakMap<Socket, Set<AwaitedReply>>();

/** Calls `reply.connectionClosed` when the connection closes before `forgetReply`. */
export function awaitReply(socket: Socket, reply: AwaitedReply): void {
  let replies = AWAITED.get(socket);
  if (!replies) {
    const all = (replies = new Set<AwaitedReply>());
    AWAITED.set(socket, all);
    socket.once('close', () => {
      for (const each of all) each.connectionClosed();
      all.clear();
    });
  }
  replies.add(reply);
}

export function forgetReply(socket: Socket, reply: AwaitedReply): void {
  AWAITED.get(socket)?.delete(reply);
}
