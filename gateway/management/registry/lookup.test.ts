import { expect, it } from 'vitest';
import { OFFICIAL } from './document/catalog.ts';
import { convertCatalog } from './document/server-entries.ts';
import { catalogOf, ECHO, NOTES, SUMMARY_SKILL } from './document/testdata/records.ts';
import { findServer, findVersion, serverPage, skillPage, serverLists, type ServerQuery } from './lookup.ts';

const entries = convertCatalog(catalogOf(NOTES, ECHO));

it('finds a server by its name, and by an ending that only one server has', () => {
  expect(findServer(entries, 'com.example/echo')).toMatchObject({ server: { name: ECHO.name }, is_remote: false });
  expect(findServer(entries, 'notes')).toMatchObject({ remote_server: { name: NOTES.name }, is_remote: true });
  expect(findServer(entries, 'example/notes')).toBeUndefined();
  expect(findServer(entries, 'otes')).toBeUndefined();
  expect(findServer(entries, '')).toBeUndefined();
});

it('finds no server by an ending that two servers have', () => {
  const twins = convertCatalog(catalogOf(ECHO, { ...NOTES, name: 'com.other/echo' }));
  expect(findServer(twins, 'echo')).toBeUndefined();
  const both = convertCatalog(catalogOf({ ...ECHO, remotes: NOTES.remotes }));
  expect(findServer(both, 'echo')).toMatchObject({ is_remote: false });
});

it('lists servers, and remote servers only when there are any', () => {
  expect(serverLists(entries)).toMatchObject({
    servers: [{ name: ECHO.name }],
    remote_servers: [{ name: NOTES.name }],
  });
  expect(serverLists(convertCatalog(catalogOf(ECHO)))).not.toHaveProperty('remote_servers');
});

const skills = Array.from({ length: 260 }, (_, index) => ({ ...SUMMARY_SKILL, name: `skill-${String(index)}` }));

it.each([
  [{}, 1, 50, 50],
  [{ page: '0' }, 1, 50, 50],
  [{ page: '-1' }, 1, 50, 50],
  [{ page: 'abc' }, 1, 50, 50],
  [{ page: '1.5' }, 1, 50, 50],
  [{ limit: '0' }, 1, 50, 50],
  [{ limit: '-5' }, 1, 50, 50],
  [{ limit: 'all' }, 1, 50, 50],
  [{ limit: '500' }, 1, 200, 200],
  [{ limit: '200', page: '2' }, 2, 200, 60],
  [{ page: '999' }, 999, 50, 0],
  [{ page: '4000000000', limit: '4000000000' }, 4_000_000_000, 200, 0],
  [{ page: '6', limit: '50' }, 6, 50, 10],
])('reads page and limit of the list of skills: %o', (query, page, limit, count) => {
  const found = skillPage(skills, query);
  expect(found.metadata).toEqual({ page, limit, total: 260 });
  expect(found.skills).toHaveLength(count);
});

it.each([
  ['SKILL-12', 11],
  ['com.EXAMPLE', 260],
  ['shortens', 260],
  ['', 260],
  ['absent', 0],
])('matches %j with name, namespace and description of a skill, in any case', (q, total) => {
  expect(skillPage(skills, { q }).metadata.total).toBe(total);
});

const records = catalogOf(
  ...Array.from({ length: 5 }, (_, index) => ({ ...ECHO, name: `com.example/s${String(index)}` })),
  NOTES,
).servers;
const namesOf = (query: ServerQuery) => serverPage(records, query).servers.map(({ server }) => server.name.slice(12));

it('pages through servers by cursor and by number', () => {
  const first = serverPage(records, { limit: '2' });
  expect(first.metadata).toEqual({ count: 2, nextCursor: 'com.example/s0' });
  expect(namesOf({ limit: '2' })).toEqual(['notes', 's0']);
  expect(namesOf({ limit: '2', cursor: 'com.example/s0' })).toEqual(['s1', 's2']);
  expect(serverPage(records, { limit: '2', cursor: 'com.example/s2' }).metadata).toEqual({ count: 2 });
  expect(namesOf({ limit: '2', cursor: 'com.example/s4' })).toEqual([]);
  expect(namesOf({ limit: '4', page: '2' })).toEqual(['s3', 's4']);
  expect(namesOf({ page: '9' })).toEqual([]);
});

it('searches names, titles and descriptions in any case', () => {
  expect(namesOf({ search: 'S3' })).toEqual(['s3']);
  expect(namesOf({ q: 'notes' })).toEqual(['notes']);
  expect(namesOf({ search: 'KEEPS' })).toEqual(['notes']);
  expect(namesOf({ search: 'nothing' })).toEqual([]);
});

it('lists deleted and changed servers on request', () => {
  const meta = (status: string, updatedAt: string) => ({ [OFFICIAL]: { status, updatedAt } });
  const { servers } = catalogOf(
    { server: ECHO, _meta: meta('deleted', '2026-03-01T00:00:00Z') },
    { server: NOTES, _meta: meta('active', '2026-01-01T00:00:00Z') },
  );
  const names = (query: ServerQuery) => serverPage(servers, query).servers.map(({ server }) => server.name);
  expect(names({})).toEqual([NOTES.name]);
  expect(names({ include_deleted: 'true' })).toEqual([ECHO.name, NOTES.name]);
  expect(names({ updated_since: '2026-02-01T00:00:00Z' })).toEqual([ECHO.name]);
  expect(names({ updated_since: 'yesterday' })).toEqual([NOTES.name]);
  expect(findVersion(servers, ECHO.name, { version: 'latest' })).toBeUndefined();
  expect(findVersion(servers, ECHO.name, { version: 'latest', include_deleted: 'true' })?.server).toEqual(ECHO);
});

it('finds the latest version and an exact one', () => {
  expect(namesOf({ version: 'latest' })).toHaveLength(6);
  expect(namesOf({ version: '2.0.0' })).toEqual(['notes']);
  expect(findVersion(records, NOTES.name, { version: '2.0.0' })?.server.name).toBe(NOTES.name);
  expect(findVersion(records, NOTES.name, { version: '1.0.0' })).toBeUndefined();
  expect(findVersion(records, 'com.example/absent', { version: 'latest' })).toBeUndefined();
});
