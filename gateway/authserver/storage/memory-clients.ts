import type { Client } from './records.ts';
import { ExpiringMap, type ExpiringEntry } from '../../kit/cache.ts';
import type { SavedClients, SavedTable } from './records-file.ts';
import type { ClientStore } from './store.ts';

/** Most bytes of unused clients that are saved, the newest ones: saving them takes time, and anybody may register clients. */
const SAVED_UNUSED_BYTES = 1024 * 1024;

/**
 * Keeps registered clients and copies of metadata documents in memory. Anybody may register a client of 50 KB or publish a
 * document, so unused ones are limited by their bytes, too.
 * @param maxUnusedBytes most bytes of unused registered clients, and of unused copies
 */
export function memoryClients(now: () => number, maxUnusedBytes: number): MemoryClients {
  const registered = new Table(now);
  const documents = new Table(now);
  const tableOf = (clientId: string): Table => (registered.kept.has(clientId) ? registered : documents);
  const clients: ClientStore = {
    async register(client, ttlMs, max, keepMs = ttlMs) {
      if (registered.kept.has(client.client_id) || documents.kept.has(client.client_id)) return { kind: 'exists' };
      while (max > 0 && registered.isFull(max, maxUnusedBytes)) {
        const [oldest, { at }] = registered.unused.oldest() ?? ['', { at: Infinity }];
        if (at + keepMs > now())
          return { kind: 'full', retryAfterMs: Math.min(registered.kept.census().nextMs, at + keepMs - now()) };
        registered.delete(oldest);
      }
      registered.add(client, ttlMs);
      return { kind: 'registered' };
    },
    async put(client, ttlMs) {
      const table = tableOf(client.client_id);
      table.put(client, ttlMs);
      while (table === documents && table.unusedBytes > maxUnusedBytes) table.delete(table.unused.oldest()?.[0] ?? '');
    },
    get: async (clientId) => tableOf(clientId).kept.get(clientId),
    renew: async (clientId, ttlMs) => tableOf(clientId).renew(clientId, ttlMs),
    delete: async (clientId) => tableOf(clientId).delete(clientId),
    count: async () => registered.kept.census().size,
  };
  return {
    clients,
    save: () => ({ registered: registered.save(), documents: documents.save() }),
    load(saved) {
      registered.load(saved.registered);
      documents.load(saved.documents);
    },
  };
}

interface MemoryClients {
  readonly clients: ClientStore;
  readonly save: () => SavedClients;
  readonly load: (saved: SavedClients) => void;
}

interface Unused {
  readonly at: number;
  readonly bytes: number;
}

class Table {
  readonly kept: ExpiringMap<Client>;
  /** Clients that were never renewed, the oldest first. */
  readonly unused: ExpiringMap<Unused>;
  unusedBytes = 0;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    this.kept = new ExpiringMap(now);
    this.unused = new ExpiringMap(now, ({ bytes }) => {
      this.unusedBytes -= bytes;
    });
  }

  /** Returns true when no further client fits, after expired ones have left. */
  isFull(max: number, maxUnusedBytes: number): boolean {
    if (this.unusedBytes >= maxUnusedBytes) this.unused.sweep();
    return !this.kept.hasRoom(max) || this.unusedBytes >= maxUnusedBytes;
  }

  add(client: Client, ttlMs: number, at = this.#now()): void {
    this.kept.set(client.client_id, client, ttlMs);
    const bytes = JSON.stringify(client).length;
    this.unused.set(client.client_id, { at, bytes }, ttlMs);
    this.unusedBytes += bytes;
  }

  save(): SavedTable {
    const used: ExpiringEntry<Client>[] = [];
    const unused: [Client, number, number][] = [];
    let bytes = 0;
    for (const entry of this.kept.entries().toReversed()) {
      const [id, client, until] = entry;
      const found = this.unused.get(id);
      bytes += found?.bytes ?? 0;
      if (!found) used.push(entry);
      else if (bytes <= SAVED_UNUSED_BYTES) unused.push([client, until, found.at]);
    }
    return { used: used.toReversed(), unused: unused.toReversed() };
  }

  load({ used, unused }: SavedTable): void {
    this.kept.restore(used);
    for (const [client, until, at] of unused) {
      const ttlMs = until - this.#now();
      if (ttlMs > 0) this.add(client, ttlMs, at);
    }
  }

  /** Stores or replaces a client. A later expiry and a use are kept. */
  put(client: Client, ttlMs: number): void {
    const { client_id: id } = client;
    const isUsed = this.kept.has(id) && !this.unused.has(id);
    const ms = Math.max(ttlMs, this.kept.remainingMs(id));
    if (isUsed) this.kept.set(id, client, ms);
    else this.add(client, ms);
  }

  renew(id: string, ttlMs: number): boolean {
    const client = this.kept.get(id);
    if (client) this.kept.set(id, client, ttlMs);
    this.unused.delete(id);
    return client !== undefined;
  }

  delete(id: string): boolean {
    this.unused.delete(id);
    return this.kept.delete(id);
  }
}
