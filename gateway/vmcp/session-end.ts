import { isSessionless } from '../contract/protocol/revisions.ts';
import { sessionsElsewhere } from './backends/backend-sessions.ts';
import type { Fleet } from './backends/fleet.ts';
import type { Replica } from './replicas/replica.ts';
import type { EndedSession } from './replicas/session-store.ts';
import { closeChannel, type Session, type SessionEnd } from './session.ts';
import type { VirtualServerDeps } from './virtual-server-deps.ts';

interface Surroundings extends Pick<VirtualServerDeps, 'now' | 'metrics' | 'onSessionEnd'> {
  readonly fleet: Fleet;
  /** Present while replicas share sessions. */
  readonly replica: Replica | undefined;
}

/** Frees what an ended session has here, and in the store unless other replicas go on with it. Records its end once. */
export function ended(session: Session, reason: SessionEnd, surroundings: Surroundings): void {
  const { fleet, replica } = surroundings;
  const shared = session.shared && replica?.sessions;
  const maybeOnlyHere = shared !== undefined && reason === 'limit';
  const endsAll = reason === 'closed' || reason === 'stream_closed';
  const others = sessionsElsewhere(maybeOnlyHere || !shared ? undefined : session);
  const isReleased = maybeOnlyHere || reason === 'released';
  release(session, isReleased);
  const ending = maybeOnlyHere ? shared.endIdle(session) : endsAll && shared?.end(session.id);
  if (isReleased) replica?.leave(session);
  if (!ending) {
    record(session, reason, surroundings);
    return;
  }
  const onEnded = ({ isFirst, record: found }: EndedSession): void => {
    if (isFirst) record(session, reason, surroundings);
    fleet.endSessions(session, others(found?.backends));
  };
  ending.then(onEnded, () => {
    if (reason === 'stream_closed') record(session, reason, surroundings);
  });
}

function record(session: Session, reason: SessionEnd, { now, metrics, onSessionEnd }: Surroundings): void {
  const { revision, startedAt } = session;
  if (reason === 'released' || isSessionless(revision)) return;
  metrics.sessionEnded?.({ revision, durationMs: now() - startedAt });
  onSessionEnd?.(session, reason);
}

function release(session: Session, isReleased: boolean): void {
  for (const listener of session.listeners ?? []) listener.end();
  for (const call of session.running) call.cancel('the session ended');
  for (const name of [...session.channels.keys()]) closeChannel(session, name, isReleased);
  if (isReleased) session.streams.release();
  else session.streams.end();
  session.subscriptions.clear();
}
