import type { Session } from '../session.ts';
import type { Channel } from '../transport/channel.ts';
import type { Fleet } from './fleet.ts';

/** Returns true for a process or a connection of this replica: other replicas cannot continue its session. */
const isPrivate = ({ session }: Channel): boolean => session === undefined;

/** Returns a function that sends a notification of the client to every backend with an open channel, once to each. */
export function notifier(session: Session, message: Buffer): () => void {
  const sent = new Set<Channel>();
  return () => {
    for (const { channel } of session.channels.values()) {
      if (!channel?.alive || sent.has(channel)) continue;
      sent.add(channel);
      channel.send(message);
    }
  };
}

/** Sends a notification that the client sent to another replica over the channels that only this one has. */
export function notifyPrivate(session: Session, message: Buffer): void {
  for (const { channel } of session.channels.values()) if (channel?.alive && isPrivate(channel)) channel.send(message);
}

/** Sends the log level to the backends of a session; one that was set at another replica over private channels only. */
export function applyLogLevel(fleet: Fleet, session: Session, level: number, isElsewhere = false): void {
  session.logLevel = level;
  for (const [name, { channel }] of session.channels)
    if (channel?.alive && (!isElsewhere || isPrivate(channel))) fleet.runtime(name)?.sendLogLevel(session, channel);
}
