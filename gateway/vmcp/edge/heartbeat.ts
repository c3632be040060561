import type { Identity } from '../../contract/identity.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import type { EventStream } from './event-stream.ts';

const HEARTBEAT_MS = 30_000;
/** Streams whose tokens are checked at the same time at the identity provider or the login store. */
const CONCURRENT_CHECKS = 64;

type TokenCheck = readonly [stream: EventStream, ask: () => Promise<boolean>];

/**
 * Sends a comment on idle streams so that proxies keep them open, and closes connections whose token is no longer
 * valid, all with one timer. The client then reconnects, receives the challenge, logs in and resumes.
 */
export function startHeartbeat(server: VirtualServer, everyMs = HEARTBEAT_MS): NodeJS.Timeout {
  let checking = false;
  return setInterval(() => {
    const checks: TokenCheck[] = [];
    for (const session of server.sessions.all()) {
      session.streams.forConnected((stream) => {
        const liveness = stream.isPiped || server.liveness(proofOf(session, stream));
        if (liveness === false) endConnection(server, stream);
        else stream.comment('keep-alive');
        if (typeof liveness === 'function' && !checking) checks.push([stream, liveness]);
      });
    }
    if (checks.length === 0) return;
    checking = true;
    void checkAll(server, checks).finally(() => {
      checking = false;
    });
  }, everyMs).unref();
}

/** Closes the streams of a login that ended in this process. */
export function endStreamsOf(server: VirtualServer, tsid: string): void {
  for (const { streams } of server.sessions.all()) {
    streams.forConnected((stream) => {
      if (stream.openedBy?.tsid === tsid) endConnection(server, stream);
    });
  }
}

/**
 * Returns the identity that opened the stream, or the session's latest one when it is the same login with a newer
 * token.
 */
function proofOf({ identity: latest }: Session, { openedBy }: EventStream): Identity | undefined {
  if (!latest || !openedBy) return openedBy;
  const isSameLogin = latest.tsid === openedBy.tsid && latest.clientId === openedBy.clientId;
  return isSameLogin && latest.expiresAt >= openedBy.expiresAt ? latest : openedBy;
}

async function checkAll(server: VirtualServer, checks: readonly TokenCheck[]): Promise<void> {
  const left = checks.values();
  const ask = async (): Promise<void> => {
    for (const [stream, isLive] of left) {
      const { openedBy } = stream;
      // on an error the stream stays open, as a cached token stays valid
      const live = !stream.connected || (await isLive().catch(() => true));
      if (!live && stream.openedBy === openedBy) endConnection(server, stream);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, ask));
}

function endConnection(server: VirtualServer, stream: EventStream): void {
  stream.detach();
  server.log.debug('closed a stream: its token is no longer valid', { stream: stream.id });
}
