import { officialMetaOf } from '../document/official-meta.ts';
import type { ServerPage, ServerRecord } from '../schema/server-json.ts';
import { pageLength, pageNumber } from './page-number.ts';

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

const DEFAULT_LIMIT = 30;
const MAX_LIMIT = 100;
const LATEST = 'latest';

/**
 * Lists one page of the servers whose name, title or description contains the search text, in any case. A cursor is the
 * name of the last server of the page before, so it stays valid when the registry changes. With `updated_since` deleted
 * servers are listed too.
 */
export function listServers(records: readonly ServerRecord[], query: ServerQuery): ServerPage {
  const { cursor } = query;
  const matches = records.filter((record) => isMatch(record, query));
  const limit = pageLength(query.limit, DEFAULT_LIMIT, MAX_LIMIT);
  const found = cursor === undefined ? -1 : matches.findIndex(({ server }) => server.name > cursor);
  const after = found === -1 ? matches.length : found;
  const start = cursor === undefined ? (pageNumber(query.page) - 1) * limit : after;
  const servers = matches.slice(start, start + limit);
  const last = servers.at(-1);
  const hasNext = start + limit < matches.length && last !== undefined;
  return { servers, metadata: { count: servers.length, ...(hasNext && { nextCursor: last.server.name }) } };
}

/** Finds one version of a server. `latest` is the newest one. A deleted server is found only on request. */
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
