import type { Client } from './client.ts';
import type { Entry } from './expiring-map.ts';
import type { CodeGrant, Family, FamilyRef, Liveness, UpstreamRow, User } from './records.ts';

/** Records for another process: all that a client or a user would miss. Login attempts begin again. Plain JSON. */
export interface SavedRecords extends SavedCodes, SavedFamilies {
  readonly clients: SavedClients;
  readonly users: readonly User[];
  readonly upstreamTokens: readonly (readonly [row: UpstreamRow, until: number])[];
  readonly registrations: readonly (readonly [key: string, text: string])[];
}

export interface SavedCodes {
  readonly codes: readonly Entry<CodeGrant>[];
  readonly usedCodes: readonly Entry<FamilyRef>[];
}

export interface SavedFamilies {
  readonly families: readonly Entry<KeptFamily>[];
  /** Family ids by refresh token. */
  readonly tokens: readonly Entry<string>[];
  readonly live: readonly Entry<Liveness>[];
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
  readonly used: readonly Entry<Client>[];
  readonly unused: readonly (readonly [client: Client, until: number, registeredAt: number])[];
}
