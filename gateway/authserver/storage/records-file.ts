import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseObject } from '../../contract/json.ts';
import { createSealer, type Sealer } from './sealing.ts';
import type { RecordsLocation, StoreDeps } from './variant.ts';
import type { Client, CodeGrant, Family, FamilyRef, LivenessRecord, UpstreamRow, User } from './records.ts';
import type { ExpiringEntry } from '../../kit/cache.ts';
import type { Store } from './store.ts';
import { replaceFile } from '../../kit/files.ts';

/** Records for another process: all that a client or a user would miss. Login attempts begin again. Plain JSON. */
export interface SavedRecords extends SavedCodes, SavedFamilies {
  readonly clients: SavedClients;
  readonly users: readonly User[];
  readonly upstreamTokens: readonly (readonly [row: UpstreamRow, until: number])[];
  readonly registrations: readonly (readonly [key: string, text: string])[];
}

export interface SavedCodes {
  readonly codes: readonly ExpiringEntry<CodeGrant>[];
  readonly usedCodes: readonly ExpiringEntry<FamilyRef>[];
}

export interface SavedFamilies {
  readonly families: readonly ExpiringEntry<KeptFamily>[];
  /** Family ids by refresh token. */
  readonly tokens: readonly ExpiringEntry<string>[];
  readonly live: readonly ExpiringEntry<LivenessRecord>[];
}

/** Family with its two latest refresh tokens. */
export interface KeptFamily {
  readonly family: Family;
  readonly current?: string | undefined;
  readonly previous?: string | undefined;
  /** End of the time in which the previous token is still accepted. */
  readonly windowUntil: number;
}

export interface SavedClients {
  readonly registered: SavedTable;
  readonly documents: SavedTable;
}

export interface SavedTable {
  readonly used: readonly ExpiringEntry<Client>[];
  readonly unused: readonly (readonly [client: Client, until: number, registeredAt: number])[];
}

type RecordsFileOptions = RecordsLocation & Pick<StoreDeps, 'secrets' | 'keyPrefix' | 'log'>;

const VERSION = 1;
const UNREADABLE = 'the saved logins and clients cannot be read: users log in again';

/** Sealed file with the records of a memory store, written after every change. */
export class RecordsFile {
  readonly #options: RecordsFileOptions;
  readonly #sealer: Sealer;
  /** Content of an earlier process; undefined if there is none that can be read. */
  readonly #found: Content | undefined;
  /** Identities of all providers whose users have records. */
  readonly #providers: Readonly<Record<string, string>>;
  #queued: Promise<void> | undefined;
  #running: Promise<void> = Promise.resolve();
  #fault: string | undefined;

  /** Reads the file. An unreadable file counts as empty. */
  static async open(options: RecordsFileOptions): Promise<RecordsFile> {
    const sealer = createSealer(options.secrets);
    return new RecordsFile(options, sealer, await readContent(options, sealer));
  }

  private constructor(options: RecordsFileOptions, sealer: Sealer, content?: Content) {
    this.#options = options;
    this.#sealer = sealer;
    this.#providers = content?.providers ?? {};
    this.#found = content;
  }

  /** Passes the records of an earlier process to `load`. Returns false if they do not have the shape that it expects. */
  load(load: (saved: SavedRecords) => void): boolean {
    const { file, log, providers } = this.#options;
    try {
      if (this.#found) load(withoutOthers(this.#found, providers()));
      return true;
    } catch {
      log.warn(UNREADABLE, { file, fault: 'written by another release' });
      return false;
    }
  }

  /**
   * Writes the records that `take` returns. Changes during a write are written together by the next one. Never rejects: while
   * the file cannot be written, the records are in memory only.
   */
  write(take: () => SavedRecords): Promise<void> {
    this.#queued ??= this.#running.then(() => {
      this.#queued = undefined;
      this.#running = this.#write(take);
      return this.#running;
    });
    return this.#queued;
  }

  async #write(take: () => SavedRecords): Promise<void> {
    const { file, providers, log } = this.#options;
    try {
      const content: Content = {
        version: VERSION,
        providers: { ...this.#providers, ...providers() },
        records: take(),
      };
      const sealed = this.#sealer.seal(keyName(this.#options), JSON.stringify(content));
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, sealed);
      this.#fault = undefined;
    } catch (error) {
      const { code = 'unexpected' } = error as NodeJS.ErrnoException;
      if (this.#fault === code) return;
      this.#fault = code;
      log.warn('logins and clients cannot be saved: a restart ends them', { file, code });
    }
  }
}

interface Content {
  readonly version: typeof VERSION;
  readonly providers: Readonly<Record<string, string>>;
  readonly records: SavedRecords;
}

const keyName = ({ keyPrefix }: RecordsFileOptions): string => `${keyPrefix}records`;

/** Returns undefined for a file that is missing, damaged, sealed with another key or written by another release. */
async function readContent(options: RecordsFileOptions, sealer: Sealer): Promise<Content | undefined> {
  const { file, log } = options;
  let fault = 'damaged, or sealed with another key';
  try {
    const sealed = await readFile(file, 'utf8');
    const content = parseObject(sealer.open(keyName(options), sealed) ?? '');
    if (content?.['version'] === VERSION) return content as unknown as Content;
    if (content) fault = 'written by another release';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    fault = code ?? 'unexpected';
  }
  log.warn(UNREADABLE, { file, fault });
  return undefined;
}

/** Returns the records without users and upstream tokens of providers that have become others. */
function withoutOthers({ providers: before, records }: Content, now: Readonly<Record<string, string>>): SavedRecords {
  const isOther = (name: string): boolean =>
    before[name] !== undefined && now[name] !== undefined && before[name] !== now[name];
  const gone = new Set(records.users.filter(({ provider }) => isOther(provider)).map(({ id }) => id));
  if (gone.size === 0 && !Object.keys(before).some(isOther)) return records;
  return {
    ...records,
    users: records.users.filter(({ id }) => !gone.has(id)),
    codes: records.codes.filter(([, { login }]) => !gone.has(login.userId)),
    families: records.families.filter(([, { family }]) => !gone.has(family.login.userId)),
    live: records.live.filter(([, { userId }]) => !gone.has(userId)),
    upstreamTokens: records.upstreamTokens.filter(([row]) => !gone.has(row.userId) && !isOther(row.provider)),
  };
}

type Save = () => Promise<void>;
type Operation = (...args: unknown[]) => Promise<unknown>;

/** Returns the store with operations that save each change before they resolve. Locks, rates and login attempts are not saved. */
export const savingStore = (store: Store, save: Save): Store => ({
  ...store,
  codes: saving(store.codes, ['put', 'take'], save),
  families: saving(store.families, ['create', 'rotate', 'revoke'], save),
  clients: saving(store.clients, ['register', 'put', 'renew', 'delete'], save),
  users: saving(store.users, ['resolve'], save),
  upstreamTokens: saving(store.upstreamTokens, ['put', 'replace', 'extend', 'delete'], save),
  registrations: saving(store.registrations, ['put', 'delete'], save),
});

/** Returns `part` with these operations replaced. */
function saving<Part extends object>(part: Part, changes: readonly (keyof Part)[], save: Save): Part {
  const operations = changes.map((name): [string, Operation] => {
    const change = (part[name] as Operation).bind(part);
    const saved: Operation = async (...args) => {
      const result = await change(...args);
      await save();
      return result;
    };
    return [String(name), saved];
  });
  return { ...part, ...Object.fromEntries(operations) };
}
