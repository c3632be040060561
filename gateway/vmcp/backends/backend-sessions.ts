import type { Session } from '../session.ts';
import type { BackendSession, Channel, ChannelOwner } from '../transport/channel.ts';

/** Sessions at backends that the replicas of a virtual server share. */
export interface BackendSessions {
  /**
   * Opens a channel that continues the session at the backend whose endpoint is `url`, or begins one in place of `lost`.
   * Rejects with `BackendError` and `KeyValueStoreUnavailable`.
   */
  open(
    session: Session,
    backend: string,
    url: string | undefined,
    lost: BackendSession | undefined,
    open: (resume: ChannelOwner['resume']) => Promise<Channel>,
  ): Promise<Channel>;
}

/**
 * Returns a filter for the sessions at backends that other replicas have opened for a session, taken before the session
 * ends here. Without a session it keeps them all.
 */
export function sessionsElsewhere(session: Session | undefined) {
  const own = new Map([...(session?.channels ?? [])].map(([backend, { channel }]) => [backend, channel?.session?.id]));
  return (stored: ReadonlyMap<string, BackendSession> | undefined): [string, BackendSession][] =>
    [...(stored ?? [])].filter(([backend, { id }]) => own.get(backend) !== id);
}
