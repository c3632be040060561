import { ExpiringMap } from './expiring-map.ts';
import type { Family, FamilyRef, Liveness } from './records.ts';
import { StoreUnavailable, type Families, type FamilySpans, type LivenessReader } from './store.ts';

/** Keeps token families, their refresh tokens and their liveness in memory. */
export function memoryFamilies(now: () => number, max: number): { families: Families; live: LivenessReader } {
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
  return { families, live: { get: async (tsid) => table.liveness(tsid) } };
}

interface Kept {
  readonly family: Family;
  readonly current?: string | undefined;
  readonly previous?: string | undefined;
  /** End of the time in which the previous token is still accepted. */
  readonly windowUntil: number;
}

class FamilyTable {
  readonly #now: () => number;
  readonly #max: number;
  readonly #kept: ExpiringMap<Kept>;
  readonly #familyOfToken: ExpiringMap<string>;
  readonly #revoked: ExpiringMap<true>;
  readonly #live: ExpiringMap<Liveness>;

  constructor(now: () => number, max: number) {
    this.#now = now;
    this.#max = max;
    this.#kept = new ExpiringMap(now);
    this.#familyOfToken = new ExpiringMap(now);
    this.#revoked = new ExpiringMap(now);
    this.#live = new ExpiringMap(now);
  }

  get = (id: string): Family | undefined => this.#kept.get(id)?.family;
  ofToken = (token: string): Kept | undefined => this.#kept.get(this.#familyOfToken.get(token) ?? '');
  liveness = (tsid: string): Liveness | undefined => this.#live.get(tsid);

  create(family: Family, token: string | undefined, spans: FamilySpans): boolean {
    if (this.#revoked.has(family.id) || this.#kept.has(family.id)) return false;
    if (this.#kept.size >= this.#max && this.#kept.census().size >= this.#max)
      throw new StoreUnavailable(`the limit of ${this.#max} token families is reached`);
    this.keep({ family, current: token, windowUntil: 0 }, token === undefined ? [] : [token], spans);
    return true;
  }

  keep(entry: Kept, tokens: readonly string[], { idleMs, liveMs }: FamilySpans): void {
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

  matching(matches: (family: Family) => boolean): FamilyRef[] {
    const families = [...this.#kept.values()].map(({ family }) => family).filter(matches);
    return families.map(({ id, tsid }) => ({ id, tsid }));
  }
}
