import type { Session } from './session.ts';

/** Ends the session's connection to one backend. */
export function closeChannel(session: Session, backend: string): void {
  const held = session.channels.get(backend);
  if (!held) return;
  session.channels.delete(backend);
  void held.channel?.close();
}

/** Ends connections that were not used since `before` (ms since the epoch) and hold no subscription. */
export function closeIdleChannels(session: Session, before: number): void {
  if (session.running.size > 0) return;
  const subscribed = session.subscriptions.backends();
  for (const [name, { lastUsedAt }] of session.channels)
    if (lastUsedAt < before && !subscribed.has(name)) closeChannel(session, name);
}
