import type { Socket } from 'node:net';

/** Silence after which a pair ends when one side has ended: the client may have left, which looks the same. */
export const HALF_CLOSED_MS = 120_000;

/**
 * Forwards the bytes of two sockets to each other, with half-close. The failure of one destroys the other. An open pair has
 * no time limit.
 */
export function join(one: Socket, other: Socket, halfClosedMs = HALF_CLOSED_MS): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    const limit = (): void => {
      to.setTimeout(halfClosedMs, () => to.destroy());
    };
    from.pipe(to);
    if (from.readableEnded) limit();
    else from.once('end', limit);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      if (!from.readableEnded || !from.writableFinished) to.destroy();
    });
    if (from.destroyed) to.destroy();
  }
}
