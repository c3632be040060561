import { isObject, type JsonObject } from '../../../contract/json.ts';
import { compiled } from '../schema/compiled.ts';
import { ServerJson, type ServerRecord } from '../schema/server-json.ts';
import { RegistrySkill } from '../schema/skill.ts';
import { inOrder, type Catalog } from './catalog.ts';
import { OFFICIAL, officialMetaOf } from './official-meta.ts';

/** Reason why a document is not a registry. */
export type DocumentFault = 'not_json' | 'legacy' | 'wrong_layout' | 'empty';

export type ParsedDocument = { readonly catalog: Catalog } | { readonly fault: DocumentFault };

const isServerJson = compiled(ServerJson);
const isRegistrySkill = compiled(RegistrySkill);

/**
 * Parses a registry document: `data.servers`, `data.skills` and `data.plugins`, or one page of the MCP registry protocol.
 * Leaves out entries that do not fit their schema. `readAt` (RFC 3339) is the time of a document that names none.
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
  const catalog = {
    version: typeof version === 'string' ? version : '1.0.0',
    lastUpdated,
    servers: sortedServers(serverRecords(servers, lastUpdated)),
    skills: sortedSkills(skills),
  };
  return { catalog };
}

function pageLayout(servers: readonly unknown[], readAt: string): ParsedDocument {
  if (servers.length === 0) return { fault: 'empty' };
  const records = sortedServers(serverRecords(servers, readAt));
  return { catalog: { version: '1.0.0', lastUpdated: readAt, servers: records, skills: [] } };
}

/**
 * Reads servers, with or without the metadata of a registry. Leaves out entries that do not fit their schema, and older
 * versions. A server without metadata gets its state and `updatedAt`, because clients require them.
 */
export function serverRecords(entries: readonly unknown[], updatedAt: string): ServerRecord[] {
  return entries.flatMap((entry): ServerRecord[] => {
    if (!isObject(entry)) return [];
    const server = isObject(entry['server']) ? entry['server'] : entry;
    if (!isServerJson(server)) return [];
    const given = isObject(entry['server']) && isObject(entry['_meta']) ? entry['_meta'] : {};
    const stated = { status: 'active', publishedAt: updatedAt, updatedAt, isLatest: true };
    const record = { server, _meta: { [OFFICIAL]: stated, ...given } };
    return officialMetaOf(record).isLatest ? [record] : [];
  });
}

/** Sorts servers by name. The first of two servers with one name is kept. */
export function sortedServers(records: readonly ServerRecord[]): ServerRecord[] {
  const byName = new Map(records.toReversed().map((record) => [record.server.name, record]));
  return [...byName.values()].toSorted((one, two) => inOrder(one.server.name, two.server.name));
}

/** Reads skills, sorted by namespace and name. Leaves out entries that do not fit their schema. */
export const sortedSkills = (entries: readonly unknown[]): RegistrySkill[] =>
  entries
    .filter((entry) => isRegistrySkill(entry))
    .toSorted((one, two) => inOrder(one.namespace, two.namespace) || inOrder(one.name, two.name));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
