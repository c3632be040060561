import type { Identity } from '../../contract/identity.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import type { EventStream } from './event-stream.ts';

const HEARTBEAT_MS = 30_000;
/** Streams that are judged at the same time by requests to the identity provider or the store of logins. */
const ASKED_AT_ONCE = 64;

type Question = readonly [stream: EventStream, ask: () => Promise<boolean>];

/**
 * Keeps idle streams open through proxies, and ends the connection of those whose token is not good any more: one timer
 * for all. The client comes back, gets the challenge, logs in and misses nothing.
 */
export function startHeartbeat(server: VirtualServer, everyMs = HEARTBEAT_MS): NodeJS.Timeout {
  let asking = false;
  return setInterval(() => {
    const questions: Question[] = [];
    for (const session of server.sessions.all()) {
      session.streams.forConnected((stream) => {
        const liveness = server.liveness(proofOf(session, stream));
        if (liveness === false) endConnection(server, stream);
        else stream.comment('keep-alive');
        if (typeof liveness === 'function' && !asking) questions.push([stream, liveness]);
      });
    }
    if (questions.length === 0) return;
    asking = true;
    void askAll(server, questions).finally(() => {
      asking = false;
    });
  }, everyMs).unref();
}

/** A login that ended in this process takes its streams with it. */
export function endStreamsOf(server: VirtualServer, tsid: string): void {
  for (const { streams } of server.sessions.all()) {
    streams.forConnected((stream) => {
      if (stream.openedBy?.tsid === tsid) endConnection(server, stream);
    });
  }
}

/** The caller that opened the stream, or the session's latest one when that is the same login with a newer token. */
function proofOf({ identity: latest }: Session, { openedBy }: EventStream): Identity | undefined {
  if (!latest || !openedBy) return openedBy;
  const isSameLogin = latest.tsid === openedBy.tsid && latest.clientId === openedBy.clientId;
  return isSameLogin && latest.expiresAt >= openedBy.expiresAt ? latest : openedBy;
}

async function askAll(server: VirtualServer, questions: readonly Question[]): Promise<void> {
  const left = questions.values();
  const ask = async (): Promise<void> => {
    for (const [stream, isLive] of left) {
      const { openedBy } = stream;
      // while nobody can say, a stream goes on as a cached token does
      const live = !stream.connected || (await isLive().catch(() => true));
      if (!live && stream.openedBy === openedBy) endConnection(server, stream);
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask));
}

function endConnection(server: VirtualServer, stream: EventStream): void {
  stream.detach();
  server.log.debug('ended a stream: its token is not good any more', { stream: stream.id });
}
