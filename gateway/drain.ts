import { setTimeout as sleep } from 'node:timers/promises';
import type { Listener } from './listener.ts';

const LOOK_EVERY_MS = 20;
/** Time for which clients that have learnt of the stop may connect again, before the listener stops to accept connections. */
const RECONNECT_MS = 1_000;

const isUsed = (listener: Listener): boolean => listener.unanswered() > 0 || listener.isAwaiting();
const isPast = (time: number): boolean => performance.now() >= time;

/**
 * Tells each client with the next response that its connection ends, then rejects new connections: after `acceptMs`, as load
 * balancers learn late of the stop, and not for a short time while there are clients. `end` is the end of the grace period.
 */
export async function endAccepting(listener: Listener, acceptMs: number, end: number): Promise<void> {
  const accepts = Math.min(performance.now() + acceptMs, end);
  const reconnects = Math.min(performance.now() + RECONNECT_MS, end);
  listener.endConnections();
  while (!isPast(accepts) || (isUsed(listener) && !isPast(reconnects))) await sleep(LOOK_EVERY_MS);
  await listener.refuseConnections(end);
}

/**
 * Lets running requests and other work finish, then closes the connections whose clients have not returned for a while. Event
 * streams remain.
 */
export async function finishRequests(listener: Listener, end: number, isBusy = (): boolean => false): Promise<void> {
  do {
    while ((isUsed(listener) || isBusy()) && !isPast(end)) await sleep(LOOK_EVERY_MS);
  } while (!(await listener.closeIdle()) && !isPast(end));
}
