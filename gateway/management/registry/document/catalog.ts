import type { TSchema } from 'typebox';
import { isObject, type JsonObject } from '../../../contract/json.ts';
import { RegistryFault } from '../fault.ts';
import { compiled, schemaFault } from '../schema/compiled.ts';
import type { EntryProblem } from '../schema/registry.ts';
import { ServerJson, type ServerRecord } from '../schema/server-json.ts';
import { RegistrySkill } from '../schema/skill.ts';

/** Content of one registry, sorted by name. */
export interface RegistryCatalog {
  readonly version: string;
  /** RFC 3339. */
  readonly lastUpdated: string;
  readonly servers: readonly ServerRecord[];
  /** undefined when the registry did not deliver its list of skills. */
  readonly skills: readonly RegistrySkill[] | undefined;
  /** Entries that do not fit their schema. */
  readonly problems?: readonly EntryProblem[];
}

/** Compares by code units, so that an order is the same on every machine. */
const inOrder = (one: string, two: string): number => (one < two ? -1 : Number(one > two));

/** Key of the metadata that a registry adds to a server. */
export const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** Metadata of a registry about one version of a server. Unknown values are undefined. */
interface OfficialMeta {
  readonly status: string | undefined;
  /** RFC 3339. */
  readonly updatedAt: string | undefined;
  readonly isLatest: boolean;
}

const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Reads the metadata of the registry. A server without them is the latest version. */
export function officialMetaOf({ _meta }: Pick<ServerRecord, '_meta'>): OfficialMeta {
  const found = _meta[OFFICIAL];
  const meta = isObject(found) ? found : {};
  return {
    status: asText(meta['status']),
    updatedAt: asText(meta['updatedAt']) ?? asText(meta['publishedAt']),
    isLatest: meta['isLatest'] !== false,
  };
}

const REASONS: Readonly<Record<DocumentFault, string>> = {
  not_json: 'is not JSON',
  wrong_layout: 'has neither "data" nor a list of "servers"',
  empty: 'contains no servers, skills or plugins',
  legacy: 'has the legacy layout: convert it to "data.servers" with server.json entries',
};

/** Returns the catalog in a document. Throws `RegistryFault`. `place` names the document in messages. */
export function catalogIn(text: string, place: string, readAt: string): RegistryCatalog {
  const parsed = parseDocument(text, readAt);
  if ('catalog' in parsed) return parsed.catalog;
  throw new RegistryFault(parsed.fault === 'legacy' ? 'legacy' : 'document', `${place} ${REASONS[parsed.fault]}`);
}

/** Reason why a document is not a registry. */
type DocumentFault = 'not_json' | 'legacy' | 'wrong_layout' | 'empty';

type ParsedDocument = { readonly catalog: RegistryCatalog } | { readonly fault: DocumentFault };

const isServerJson = compiled(ServerJson);
const isRegistrySkill = compiled(RegistrySkill);

/**
 * Parses a registry document: `data.servers`, `data.skills` and `data.plugins`, or one page of the MCP registry protocol.
 * Entries that do not fit their schema are problems of the catalog. `readAt` (RFC 3339) is the time of a document without a time.
 */
export function parseDocument(text: string, readAt: string): ParsedDocument {
  const document = parseJson(text);
  if (document === undefined) return { fault: 'not_json' };
  if (!isObject(document)) return { fault: 'wrong_layout' };
  if (isObject(document['data'])) return upstreamLayout(document, document['data'], readAt);
  if (Array.isArray(document['servers'])) return pageLayout(document['servers'], readAt);
  const isLegacy = ['servers', 'remote_servers', 'groups'].some((name) => Object.hasOwn(document, name));
  return { fault: isLegacy ? 'legacy' : 'wrong_layout' };
}

function upstreamLayout(document: JsonObject, data: JsonObject, readAt: string): ParsedDocument {
  const lists = [data['servers'], data['skills'], data['plugins']].map((list) => list ?? []);
  if (!lists.every((list) => Array.isArray(list))) return { fault: 'wrong_layout' };
  const [servers = [], skills = []] = lists as unknown[][];
  if (lists.every((list) => list.length === 0)) return { fault: 'empty' };
  const { version, meta } = document;
  const lastUpdated = isObject(meta) && typeof meta['last_updated'] === 'string' ? meta['last_updated'] : readAt;
  const { servers: records, problems } = readServers(servers, lastUpdated);
  const read = readSkills(skills);
  const catalog = {
    version: typeof version === 'string' ? version : '1.0.0',
    lastUpdated,
    servers: records,
    skills: read.skills,
    problems: [...problems, ...read.problems],
  };
  return { catalog };
}

function pageLayout(servers: readonly unknown[], readAt: string): ParsedDocument {
  if (servers.length === 0) return { fault: 'empty' };
  return { catalog: { version: '1.0.0', lastUpdated: readAt, skills: [], ...readServers(servers, readAt) } };
}

/**
 * Reads servers, with or without the metadata of a registry, sorted by name. Leaves out older versions, and entries that do not fit their
 * schema, with their problems. A server without metadata gets its state and `updatedAt`, because clients require them.
 */
export function readServers(entries: readonly unknown[], updatedAt: string) {
  const problems: EntryProblem[] = [];
  const records = entries.flatMap((entry, index): ServerRecord[] => {
    const isRecord = isObject(entry) && isObject(entry['server']);
    const server = isRecord ? entry['server'] : entry;
    const given = isRecord && isObject(entry['_meta']) ? entry['_meta'] : {};
    const stated = { status: 'active', publishedAt: updatedAt, updatedAt, isLatest: true };
    const _meta = { [OFFICIAL]: stated, ...given };
    if (!officialMetaOf({ _meta }).isLatest) return [];
    if (isServerJson(server)) return [{ server, _meta }];
    problems.push(problemOf(server, `servers[${String(index)}]`, ServerJson));
    return [];
  });
  return { servers: sortedServers(records), problems };
}

/** Sorts servers by name. The first of two servers with one name is kept. */
function sortedServers(records: readonly ServerRecord[]): ServerRecord[] {
  const byName = new Map(records.toReversed().map((record) => [record.server.name, record]));
  return [...byName.values()].toSorted((one, two) => inOrder(one.server.name, two.server.name));
}

/** Reads skills, sorted by namespace and name. Leaves out entries that do not fit their schema, with their problems. */
export function readSkills(entries: readonly unknown[]) {
  const problems: EntryProblem[] = [];
  const skills = entries.filter((entry, index): entry is RegistrySkill => {
    if (isRegistrySkill(entry)) return true;
    problems.push(problemOf(entry, `skills[${String(index)}]`, RegistrySkill));
    return false;
  });
  return {
    skills: skills.toSorted((one, two) => inOrder(one.namespace, two.namespace) || inOrder(one.name, two.name)),
    problems,
  };
}

const problemOf = (entry: unknown, place: string, schema: TSchema): EntryProblem => ({
  server: isObject(entry) && typeof entry['name'] === 'string' ? entry['name'] : place,
  reason: schemaFault(schema, entry),
});

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
