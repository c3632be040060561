import { officialMetaOf } from './document/catalog.ts';
import type { Entries } from './document/server-entries.ts';
import type { ServerLists, ServerLookup } from './schema/entries.ts';
import type { ServerPage, ServerRecord } from './schema/server-json.ts';
import type { RegistrySkill, SkillPage } from './schema/skill.ts';

/**
 * Finds a server by its name. A name without a slash also matches `NAMESPACE/name` if only one server has that ending.
 */
export function findServer({ servers, remoteServers }: Entries, name: string): ServerLookup | undefined {
  const key = findKey(new Set([...servers.keys(), ...remoteServers.keys()]), name);
  if (key === undefined) return undefined;
  const server = servers.get(key);
  if (server) return { server, is_remote: false };
  const remote = remoteServers.get(key);
  return remote && { remote_server: remote, is_remote: true };
}

function findKey(names: ReadonlySet<string>, name: string): string | undefined {
  if (names.has(name) || name.includes('/')) return name;
  const matches = [...names].filter((candidate) => candidate.endsWith(`/${name}`));
  return matches.length === 1 ? matches[0] : undefined;
}

/** Returns the reason why a server of the registry has no entry, with advice for the user. Matches names as `findServer` does. */
export function findProblem({ problems }: Entries, name: string): string | undefined {
  const key = findKey(new Set(problems.map(({ server }) => server)), name);
  const problem = problems.find(({ server }) => server === key);
  return (
    problem &&
    `registry entry ${problem.server} cannot be used: ${problem.reason}. Set the image and its settings yourself, or ask its publisher to correct it`
  );
}

/** Lists all servers, sorted by name. */
export const serverLists = ({ servers, remoteServers }: Entries): ServerLists => ({
  servers: [...servers.values()],
  ...(remoteServers.size > 0 && { remote_servers: [...remoteServers.values()] }),
});

/** Query of the list of servers, as it was sent. `q` is another name of `search`. */
export interface ServerQuery {
  readonly search?: string | undefined;
  readonly q?: string | undefined;
  readonly cursor?: string | undefined;
  readonly page?: string | undefined;
  readonly limit?: string | undefined;
  readonly version?: string | undefined;
  /** RFC 3339. */
  readonly updated_since?: string | undefined;
  readonly include_deleted?: string | undefined;
}

const DEFAULT_SERVERS = 30;
const MAX_SERVERS = 100;
const LATEST = 'latest';

/**
 * Lists one page of the servers whose name, title or description contains the search text, in any case. A cursor is the
 * name of the last server of the page before, so it stays valid when the registry changes. With `updated_since` deleted
 * servers are listed too.
 */
export function serverPage(records: readonly ServerRecord[], query: ServerQuery): ServerPage {
  const { cursor } = query;
  const matches = records.filter((record) => isMatch(record, query));
  const limit = pageLength(query.limit, DEFAULT_SERVERS, MAX_SERVERS);
  const found = cursor === undefined ? -1 : matches.findIndex(({ server }) => server.name > cursor);
  const after = found === -1 ? matches.length : found;
  const start = cursor === undefined ? (pageNumber(query.page) - 1) * limit : after;
  const servers = matches.slice(start, start + limit);
  const last = servers.at(-1);
  const hasNext = start + limit < matches.length && last !== undefined;
  return { servers, metadata: { count: servers.length, ...(hasNext && { nextCursor: last.server.name }) } };
}

/** Finds one version of a server. `latest` is the newest version. A deleted server is found only on request. */
export const findVersion = (
  records: readonly ServerRecord[],
  name: string,
  { version, include_deleted }: Pick<ServerQuery, 'version' | 'include_deleted'>,
): ServerRecord | undefined =>
  records.find((record) => record.server.name === name && isMatch(record, { version, include_deleted }));

function isMatch(record: ServerRecord, query: ServerQuery): boolean {
  const { name, title = '', description, version } = record.server;
  const { status, updatedAt = '' } = officialMetaOf(record);
  const since = query.updated_since === undefined ? Number.NaN : Date.parse(query.updated_since);
  const withDeleted = query.include_deleted === 'true' || !Number.isNaN(since);
  const text = (query.search ?? query.q ?? '').toLowerCase();
  return (
    (status !== 'deleted' || withDeleted) &&
    !(Date.parse(updatedAt) < since) &&
    (query.version === undefined || query.version === LATEST || query.version === version) &&
    [name, title, description].some((member) => member.toLowerCase().includes(text))
  );
}

/** Query of the list of skills, as it was sent. */
interface SkillQuery {
  readonly q?: string | undefined;
  readonly page?: string | undefined;
  readonly limit?: string | undefined;
}

const DEFAULT_SKILLS = 50;
const MAX_SKILLS = 200;

/** Lists one page of the skills whose name, namespace or description contains `q`, in any case. */
export function skillPage(skills: readonly RegistrySkill[], query: SkillQuery): SkillPage {
  const text = (query.q ?? '').toLowerCase();
  const matches = skills.filter((skill) =>
    [skill.name, skill.namespace, skill.description].some((member) => member.toLowerCase().includes(text)),
  );
  const page = pageNumber(query.page);
  const limit = pageLength(query.limit, DEFAULT_SKILLS, MAX_SKILLS);
  return {
    skills: matches.slice((page - 1) * limit, page * limit),
    metadata: { page, limit, total: matches.length },
  };
}

/** Returns the number of a page. Any text that is not a positive whole number means page 1. */
function pageNumber(text: string | undefined): number {
  const page = wholeNumber(text);
  return page !== undefined && page >= 1 ? page : 1;
}

/** Returns the length of a page, at most `max`. Any text that is not a positive whole number means `fallback`. */
function pageLength(text: string | undefined, fallback: number, max: number): number {
  const limit = wholeNumber(text);
  return limit !== undefined && limit >= 1 ? Math.min(limit, max) : fallback;
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^[+-]?\d{1,15}$/u.test(text) ? Number(text) : undefined;
