import { ExpiringMap } from '../../kit/cache.ts';
import type { Family, FamilyRef, LivenessRecord } from './records.ts';
import type { KeptFamily, SavedFamilies } from './records-file.ts';
import { StoreUnavailable, type Families, type FamilySpans, type LivenessReader } from './store.ts';

interface MemoryFamilies {
  readonly families: Families;
  readonly live: LivenessReader;
  readonly save: () => SavedFamilies;
  readonly load: (saved: SavedFamilies) => void;
}

/** Keeps token families, their refresh tokens and their liveness in memory. */
export function memoryFamilies(now: () => number, max: number): MemoryFamilies {
  const table = new FamilyTable(now, max);

  const rotate: Families['rotate'] = async ({ family: ref, token, successor, graceMs, ...spans }) => {
    const entry = table.ofToken(token);
    if (entry?.family.id !== ref.id) return { kind: 'unknown' };
    const { family, current, previous, windowUntil } = entry;
    if (token === current) {
      const next = { family, current: successor, previous: token, windowUntil: now() + graceMs };
      table.keep(next, [token, successor], spans);
      return { kind: 'rotated', family };
    }
    if (token === previous && current !== undefined && now() < windowUntil) {
      return { kind: 'replayed', family, successor: current };
    }
    table.revoke(family, spans.liveMs);
    return { kind: 'reused', family };
  };

  const families: Families = {
    create: async (family, token, spans) => table.create(family, token, spans),
    async find(token) {
      const entry = table.ofToken(token);
      return entry && { family: entry.family, current: entry.current === token };
    },
    rotate,
    get: async (id) => table.get(id),
    ofUser: async (userId) => table.matching(({ login }) => login.userId === userId),
    ofClient: async (clientId) => table.matching((family) => family.clientId === clientId),
    revoke: async (ref, keepMs) => table.revoke(ref, keepMs),
  };
  const live: LivenessReader = { get: async (tsid) => table.liveness(tsid) };
  return { families, live, save: () => table.save(), load: (saved) => table.load(saved) };
}

class FamilyTable {
  readonly #now: () => number;
  readonly #max: number;
  readonly #kept: ExpiringMap<KeptFamily>;
  readonly #familyOfToken: ExpiringMap<string>;
  readonly #revoked: ExpiringMap<true>;
  readonly #live: ExpiringMap<LivenessRecord>;

  constructor(now: () => number, max: number) {
    this.#now = now;
    this.#max = max;
    this.#kept = new ExpiringMap(now);
    this.#familyOfToken = new ExpiringMap(now);
    this.#revoked = new ExpiringMap(now);
    this.#live = new ExpiringMap(now);
  }

  get = (id: string): Family | undefined => this.#kept.get(id)?.family;
  ofToken = (token: string): KeptFamily | undefined => this.#kept.get(this.#familyOfToken.get(token) ?? '');
  liveness = (tsid: string): LivenessRecord | undefined => this.#live.get(tsid);

  create(family: Family, token: string | undefined, spans: FamilySpans): boolean {
    if (this.#revoked.has(family.id) || this.#kept.has(family.id)) return false;
    if (this.#kept.size >= this.#max && this.#kept.census().size >= this.#max)
      throw new StoreUnavailable(`the limit of ${this.#max} token families is reached`);
    this.keep({ family, current: token, windowUntil: 0 }, token === undefined ? [] : [token], spans);
    return true;
  }

  keep(entry: KeptFamily, tokens: readonly string[], { idleMs, liveMs }: FamilySpans): void {
    const { family } = entry;
    const ttlMs = Math.min(idleMs, family.expiresAt - this.#now());
    this.#kept.set(family.id, entry, ttlMs);
    for (const token of tokens) this.#familyOfToken.set(token, family.id, ttlMs);
    const liveness = { familyId: family.id, userId: family.login.userId, clientId: family.clientId };
    this.#live.set(family.tsid, liveness, liveMs);
  }

  revoke({ id, tsid }: FamilyRef, keepMs: number): void {
    this.#revoked.set(id, true, keepMs);
    this.#kept.delete(id);
    this.#live.delete(tsid);
  }

  save(): SavedFamilies {
    return { families: this.#kept.entries(), tokens: this.#familyOfToken.entries(), live: this.#live.entries() };
  }

  load({ families, tokens, live }: SavedFamilies): void {
    this.#kept.restore(families);
    this.#familyOfToken.restore(tokens);
    this.#live.restore(live);
  }

  matching(matches: (family: Family) => boolean): FamilyRef[] {
    const families = [...this.#kept.values()].map(({ family }) => family).filter(matches);
    return families.map(({ id, tsid }) => ({ id, tsid }));
  }
}
