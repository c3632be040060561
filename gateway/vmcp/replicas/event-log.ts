import { KeyValueStoreUnavailable, type KeyValueStore, type Script } from '../../kvstore/key-value-store.ts';
import type { Logger } from '../../contract/logger.ts';
import type { LoggedEvent, StreamLog } from '../stream-log.ts';
import type { ListDigests } from '../session.ts';
import { FIELD, readLast, readSeen } from './session-record.ts';
import type { SessionStore } from './session-store.ts';

/** The stream of a session that this replica holds now, and its state if it did not hold it before. */
interface Held {
  readonly turn: number;
  readonly state?: {
    readonly events: readonly LoggedEvent[];
    /** Number of the last event, which may not be kept any more. */
    readonly last: number;
    /** Lists of which the client was notified last. */
    readonly seen: ListDigests | undefined;
  };
}

/** Time for which events are kept after the last one of their stream. */
const KEPT_MS = 300_000;

const APPEND: Script = {
  name: 'vmcpEventAppend',
  lua: `if ARGV[1] ~= '' then
  local holder = redis.call('HGET', KEYS[2], '${FIELD.holder}')
  if holder ~= ARGV[1] then return holder or '' end
  redis.call('HSET', KEYS[2], '${FIELD.last}', ARGV[5])
end
redis.call('XADD', KEYS[1], 'MINID', ARGV[3], ARGV[2], unpack(ARGV, 6))
return redis.call('PEXPIRE', KEYS[1], ARGV[4])`,
};

const HOLD: Script = {
  name: 'vmcpStreamHold',
  lua: `if redis.call('EXISTS', KEYS[2]) == 0 then return false end
local before = redis.call('HMGET', KEYS[2], '${FIELD.holder}', '${FIELD.turn}')
if before[1] == ARGV[1] and before[2] == ARGV[2] then return {tonumber(ARGV[2])} end
if ARGV[3] and before[2] ~= ARGV[3] then return {-1} end
redis.call('HSET', KEYS[2], '${FIELD.holder}', ARGV[1])
local turn = redis.call('HINCRBY', KEYS[2], '${FIELD.turn}', 1)
local state = redis.call('HMGET', KEYS[2], '${FIELD.last}', '${FIELD.seen}')
return {turn, redis.call('XRANGE', KEYS[1], '-', '+'), state[1], state[2]}`,
};

const LEAVE: Script = {
  name: 'vmcpStreamLeave',
  lua: `if redis.call('HGET', KEYS[1], '${FIELD.holder}') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], '${FIELD.holder}')
return redis.call('PUBLISH', ARGV[2], ARGV[3])`,
};

export interface EventLogOptions {
  readonly store: KeyValueStore;
  readonly sessions: SessionStore;
  readonly replica: string;
  readonly log: Pick<Logger, 'debug'>;
}

/**
 * Events of resumable streams in the store, one Redis stream each, so that clients resume at any replica. Errors of the
 * store are logged: a stream continues without its log.
 */
export class EventLog {
  readonly #options: EventLogOptions;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  /**
   * Returns the log of a session. `isMain` is true for the stream that moves between replicas: only its holder appends. `onMoved`
   * receives the messages that another holder must send.
   */
  of(
    session: string,
    isMain: (stream: string) => boolean,
    onMoved: (holder: string, message: Buffer) => void,
  ): StreamLog {
    const { store, sessions, replica, log } = this.#options;
    const onError = (error: unknown): void => {
      log.debug('an event is not logged for other replicas', { error: String(error) });
    };
    return {
      append: (stream, first, { sequence, bytes, request }, unsent) => {
        const keys = [this.#key(session, stream), sessions.key(session)];
        const fields = [...(bytes ? ['d', bytes] : ['e', '1']), 'r', request];
        const head = [isMain(stream) ? replica : '', `${String(sequence)}-0`, `${String(first)}-0`, KEPT_MS, sequence];
        const moved = (reply: unknown): void => {
          if (unsent && typeof reply === 'string' && reply !== '') onMoved(reply, unsent);
        };
        store
          .run(APPEND, keys, [...head, ...fields])
          .then(moved)
          .catch(onError);
      },
      forget: (stream) => {
        store.command('UNLINK', this.#key(session, stream)).catch(onError);
      },
    };
  }

  /** Returns the kept events of a stream. Rejects with `KeyValueStoreUnavailable`. */
  async read(session: string, stream: string): Promise<LoggedEvent[]> {
    return eventsOf(await this.#options.store.bytes('XRANGE', this.#key(session, stream), '-', '+'));
  }

  /**
   * Makes this replica the one that holds the main stream of a session. `turn` is its turn if it holds it already: then
   * there is no state. Returns undefined when the session has ended. With `after` changes nothing unless that is the
   * last turn: the result then has turn -1.
   */
  async hold(session: string, stream: string, turn: number | undefined, after?: number): Promise<Held | undefined> {
    const { store, sessions, replica } = this.#options;
    const keys = [this.#key(session, stream), sessions.key(session)];
    const args = [replica, turn ?? '', ...(after === undefined ? [] : [after])];
    const reply = (await store.runBytes(HOLD, keys, args)) as
      | readonly [number, unknown?, (Buffer | null)?, (Buffer | null)?]
      | null;
    if (reply === null) return undefined;
    const [held, events, last, seen] = reply;
    if (events === undefined) return { turn: held };
    return {
      turn: held,
      state: { events: eventsOf(events), last: readLast(last?.toString()), seen: readSeen(seen?.toString()) },
    };
  }

  /** Gives up the main stream of a session, and publishes `message` if this replica held it. */
  async leave(session: string, message: Buffer): Promise<void> {
    const { store, sessions, replica } = this.#options;
    await store.run(LEAVE, [sessions.key(session)], [replica, store.key('all'), message]);
  }

  #key(session: string, stream: string): string {
    return this.#options.store.key(`e:${session}:${stream}`);
  }
}

/** Parses the reply to XRANGE. */
function eventsOf(list: unknown): LoggedEvent[] {
  if (!Array.isArray(list)) throw new KeyValueStoreUnavailable('the reply is no list of events');
  return (list as readonly [Buffer, readonly Buffer[]][]).map(([id, fields]) => {
    const found = new Map<string, Buffer | undefined>();
    for (let at = 0; at < fields.length; at += 2) found.set(String(fields[at]), fields[at + 1]);
    return { sequence: Number.parseInt(String(id), 10), bytes: found.get('d'), request: String(found.get('r') ?? '') };
  });
}
