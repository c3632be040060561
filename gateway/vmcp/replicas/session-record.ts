import { isObject } from '../../contract/json.ts';
import { KeyValueStoreUnavailable } from '../../kvstore/key-value-store.ts';
import { LOG_LEVELS } from '../log-level.ts';
import type { ClientFacts, ListDigests } from '../session.ts';
import type { BackendSession } from '../transport/channel.ts';

/** State of a session that its replicas share. */
export interface SessionRecord {
  readonly principal: string;
  /** Digest of the rules for clients under which the session was opened. */
  readonly rules: string;
  readonly client: ClientFacts;
  /** ms since the epoch. */
  readonly startedAt: number;
  /** True when the client has sent a request after `initialize`. */
  readonly isUsed: boolean;
  readonly seen: ListDigests | undefined;
  readonly logLevel: number;
  /** Replica with the client's stream for messages that belong to no call. */
  readonly holder: string | undefined;
  /** Number of times that the stream has changed its replica. */
  readonly turn: number;
  readonly subscriptions: readonly { readonly uri: string; readonly backend: string; readonly name: string }[];
  /** Sessions at backends, by the name of the backend. */
  readonly backends: ReadonlyMap<string, BackendSession>;
}

/** Fields of the hash of a session. Those of backends and subscriptions have a name after the prefix. */
export const FIELD = {
  facts: 'f',
  used: 'q',
  level: 'l',
  seen: 'd',
  holder: 'g',
  turn: 't',
  /** Number of the last event of the main stream. */
  last: 'n',
  backend: 'b:',
  subscription: 'u:',
} as const;

interface Facts {
  readonly principal: string;
  readonly rules: string;
  readonly revision: string;
  readonly capabilities: string;
  readonly client: ClientFacts['client'];
  readonly startedAt: number;
}

/** Returns the fields of a new session, as a list of names and values. */
export const newFields = ({ principal, rules, client, startedAt, seen, holder }: SessionRecord): string[] => {
  const { revision, capabilities } = client;
  const facts: Facts = { principal, rules, revision, capabilities, client: client.client, startedAt };
  const known = holder === undefined ? [] : [FIELD.holder, holder];
  return [FIELD.facts, JSON.stringify(facts), ...(seen ? [FIELD.seen, JSON.stringify(seen)] : []), ...known];
};

/** A record that another version or another program wrote. */
export class UnreadableRecord extends KeyValueStoreUnavailable {
  constructor(field: string) {
    super(`the record of a session is unreadable: ${JSON.stringify(field.slice(0, LONGEST_NAME))}`);
    this.name = UnreadableRecord.name;
  }
}

const LONGEST_NAME = 64;

/** Parses the fields of a hash, a list of names and values; undefined for an empty hash. Throws `UnreadableRecord`. */
export function readRecord(list: readonly string[]): SessionRecord | undefined {
  const fields = new Map<string, string>();
  for (let at = 0; at < list.length; at += 2) fields.set(list[at] ?? '', list[at + 1] ?? '');
  const text = fields.get(FIELD.facts);
  if (text === undefined) return undefined;
  const { principal, rules, startedAt, revision, capabilities, client } = parsed(FIELD.facts, text, isFacts);
  const offers = new Set(Object.keys(parsed(FIELD.facts, capabilities, isObject)));
  return {
    principal,
    rules,
    startedAt,
    client: { revision, capabilities, offers, client },
    isUsed: fields.has(FIELD.used),
    seen: readSeen(fields.get(FIELD.seen)),
    logLevel: parsed(FIELD.level, fields.get(FIELD.level) ?? '-1', isLevel),
    holder: fields.get(FIELD.holder),
    turn: parsed(FIELD.turn, fields.get(FIELD.turn) ?? '0', isCount),
    subscriptions: named(fields, FIELD.subscription).map(([uri, value]) => {
      const [backend, name] = parsed(FIELD.subscription + uri, value, isPair);
      return { uri, backend, name };
    }),
    backends: new Map(named(fields, FIELD.backend).map(([name, value]) => [name, readBackend(value)])),
  };
}

/** Returns the fields with a prefix, without it. */
const named = (fields: ReadonlyMap<string, string>, prefix: string): [string, string][] =>
  [...fields].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => [name.slice(prefix.length), value]);

export const backendText = (session: BackendSession): string => JSON.stringify(session);

/** Throws `UnreadableRecord`. */
export const readBackend = (text: string): BackendSession => parsed(FIELD.backend, text, isBackendSession);

/** Throws `UnreadableRecord`. */
export const readSeen = (text: string | undefined): ListDigests | undefined =>
  text === undefined ? undefined : parsed(FIELD.seen, text, isDigests);

/** Throws `UnreadableRecord`. */
export const readLast = (text = '0'): number => parsed(FIELD.last, text, isCount);

/** Parses the JSON text of a field. Throws `UnreadableRecord`. */
function parsed<T>(field: string, text: string, isValid: (value: unknown) => value is T): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UnreadableRecord(field);
  }
  if (!isValid(value)) throw new UnreadableRecord(field);
  return value;
}

const areTexts = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'string');

const isFacts = (value: unknown): value is Facts => {
  if (!isObject(value) || !isObject(value['client'])) return false;
  const { principal, rules, revision, capabilities, startedAt, client } = value;
  return areTexts(principal, rules, revision, capabilities, client.name, client.version) && Number.isFinite(startedAt);
};

const isDigests = (value: unknown): value is ListDigests =>
  isObject(value) && areTexts(value['tools'], value['resources'], value['prompts']);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isLevel = (value: unknown): value is number => value === -1 || (isCount(value) && value < LOG_LEVELS.length);

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && areTexts(...(value as unknown[]));

const isBackendSession = (value: unknown): value is BackendSession =>
  isObject(value) && areTexts(value['id'], value['url'], value['revision']) && isObject(value['capabilities']);
