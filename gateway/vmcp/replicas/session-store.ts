import type { Logger } from '../../contract/logger.ts';
import type { KeyValueStore, Script } from '../../kvstore/key-value-store.ts';
import type { BackendSession } from '../transport/channel.ts';
import {
  backendText,
  FIELD,
  newFields,
  readBackend,
  readRecord,
  UnreadableRecord,
  type SessionRecord,
} from './session-record.ts';

const CREATE: Script = {
  name: 'vmcpSessionCreate',
  lua: `redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`,
};

const LOAD: Script = {
  name: 'vmcpSessionLoad',
  lua: `local fields = redis.call('HGETALL', KEYS[1])
if #fields > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return fields`,
};

const END: Script = {
  name: 'vmcpSessionEnd',
  lua: `local fields = redis.call('HGETALL', KEYS[1])
local isFirst = redis.call('SET', KEYS[2], 1, 'NX', 'PX', ARGV[3])
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return {isFirst and 1 or 0, fields}`,
};

/** Ends a session unless its time to live was started again lately. */
const END_IDLE: Script = {
  name: 'vmcpSessionEndIdle',
  lua: `if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[4]) then return {0, {}} end
${END.lua}`,
};

/** Like `END_IDLE`, for a session that no request has used. */
const END_UNUSED: Script = {
  name: 'vmcpSessionEndUnused',
  lua: `if redis.call('HEXISTS', KEYS[1], '${FIELD.used}') == 1 then return {0, {}} end
${END_IDLE.lua}`,
};

/** Sets a field of a session that still exists: a hash without a time to live would stay for ever. */
const SET: Script = {
  name: 'vmcpSessionSet',
  lua: `if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`,
};

/** Sets a field whose value is the expected one, else returns its value. */
const REPLACE: Script = {
  name: 'vmcpSessionReplace',
  lua: `if redis.call('EXISTS', KEYS[1]) == 0 then return false end
local present = redis.call('HGET', KEYS[1], ARGV[1])
if present and present ~= ARGV[3] then return present end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return ARGV[2]`,
};

/** Time for which the store knows that a replica has recorded the end of a session. */
const ENDED_MS = 600_000;

/** A session that has ended. */
export interface EndedSession {
  /** True for the replica that records the end: one of them does. */
  readonly isFirst: boolean;
  /** Last state; undefined for an unknown session. */
  readonly record: SessionRecord | undefined;
}

/** Sessions in the store: one hash each, which expires when no replica has used it for the time to live. */
export class SessionStore {
  readonly #store: KeyValueStore;
  readonly #log: Pick<Logger, 'warn'>;
  #isReported = false;

  constructor(store: KeyValueStore, log: Pick<Logger, 'warn'>) {
    this.#store = store;
    this.#log = log;
  }

  async create(id: string, record: SessionRecord, ttlMs: number): Promise<void> {
    await this.#store.run(CREATE, [this.key(id)], [ttlMs, ...newFields(record)]);
  }

  /** Returns undefined for an unknown session, and for an unreadable one. Starts the time to live again. */
  async load(id: string, ttlMs: number): Promise<SessionRecord | undefined> {
    return this.#read((await this.#store.run(LOAD, [this.key(id)], [ttlMs])) as string[]);
  }

  #read(fields: readonly string[]): SessionRecord | undefined {
    try {
      return readRecord(fields);
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error;
      if (!this.#isReported) this.#log.warn('a session in the store is unknown', { error: error.message });
      this.#isReported = true;
      return undefined;
    }
  }

  /** Starts the time to live again. Returns false for an unknown session. */
  async touch(id: string, ttlMs: number): Promise<boolean> {
    return (await this.#store.command('PEXPIRE', this.key(id), ttlMs)) === 1;
  }

  /** Returns how much of the time to live is left; negative for an unknown session. */
  async leftMs(id: string): Promise<number> {
    return Number(await this.#store.command('PTTL', this.key(id)));
  }

  /** Deletes a session and publishes `message`. */
  async end(id: string, message: Buffer): Promise<EndedSession> {
    return this.#end(END, id, [this.#store.key('all'), message, ENDED_MS]);
  }

  /** Like `end`, unless more than `leftMs` of its time to live are left. */
  async endIdle(id: string, leftMs: number, message: Buffer): Promise<EndedSession> {
    return this.#end(END_IDLE, id, [this.#store.key('all'), message, ENDED_MS, leftMs]);
  }

  /** Like `endIdle`, unless a request has used the session. */
  async endUnused(id: string, leftMs: number, message: Buffer): Promise<EndedSession> {
    return this.#end(END_UNUSED, id, [this.#store.key('all'), message, ENDED_MS, leftMs]);
  }

  /** Returns true for the first replica that notices the end of a session. */
  async isFirstToEnd(id: string): Promise<boolean> {
    return (await this.#store.command('SET', this.#endKey(id), 1, 'NX', 'PX', ENDED_MS)) === 'OK';
  }

  async #end(script: Script, id: string, args: readonly (string | number | Buffer)[]): Promise<EndedSession> {
    const reply = await this.#store.run(script, [this.key(id), this.#endKey(id)], args);
    const [isFirst, fields] = reply as readonly [number, string[]];
    return { isFirst: isFirst === 1, record: this.#read(fields) };
  }

  #endKey(id: string): string {
    return this.#store.key(`x:${id}`);
  }

  async set(id: string, field: string, value: string): Promise<void> {
    await this.#store.run(SET, [this.key(id)], [field, value]);
  }

  async unset(id: string, field: string): Promise<void> {
    await this.#store.command('HDEL', this.key(id), field);
  }

  async backends(id: string): Promise<readonly string[]> {
    const names = (await this.#store.command('HKEYS', this.key(id))) as string[];
    return names.flatMap((name) => (name.startsWith(FIELD.backend) ? [name.slice(FIELD.backend.length)] : []));
  }

  /** Rejects with `UnreadableRecord`, too. */
  async backend(id: string, name: string): Promise<BackendSession | undefined> {
    const text = (await this.#store.command('HGET', this.key(id), FIELD.backend + name)) as string | null;
    return text === null ? undefined : readBackend(text);
  }

  /**
   * Stores the session at a backend in place of `before`. Returns the one that is stored now, which is another one when
   * a replica was faster; undefined when the session has ended.
   */
  async saveBackend(
    id: string,
    name: string,
    session: BackendSession,
    before: BackendSession | undefined,
  ): Promise<BackendSession | undefined> {
    const values = [backendText(session), before ? backendText(before) : ''];
    const text = await this.#store.run(REPLACE, [this.key(id)], [FIELD.backend + name, ...values]);
    return typeof text === 'string' ? readBackend(text) : undefined;
  }

  key(id: string): string {
    return this.#store.key(`s:${id}`);
  }
}
