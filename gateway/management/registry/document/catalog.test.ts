import { expect, it } from 'vitest';
import { OFFICIAL, parseDocument } from './catalog.ts';
import { ECHO, NOTES, READ_AT, SUMMARY_SKILL, upstreamDocument } from './testdata/records.ts';

const catalogIn = (text: string) => {
  const parsed = parseDocument(text, READ_AT);
  if (!('catalog' in parsed)) throw new Error(parsed.fault);
  return parsed.catalog;
};
const namesIn = (text: string) => catalogIn(text).servers.map(({ server }) => server.name);

it('reads servers and skills of the upstream layout, sorted by name', () => {
  expect(catalogIn(upstreamDocument())).toMatchObject({
    version: '1.1.0',
    lastUpdated: '2026-05-06T07:08:09Z',
    servers: [{ server: ECHO }, { server: NOTES }],
    skills: [SUMMARY_SKILL],
  });
});

it('reads a page of the registry protocol', () => {
  const page = { servers: [{ server: NOTES, _meta: {} }, { server: ECHO }], metadata: { count: 2 } };
  expect(namesIn(JSON.stringify(page))).toEqual([ECHO.name, NOTES.name]);
});

it.each([
  ['text that is not JSON', '<html>', 'not_json'],
  ['an empty file', '', 'not_json'],
  ['a list', '[]', 'wrong_layout'],
  ['another object', '{"version":"1"}', 'wrong_layout'],
  ['data that is no list', '{"data":{"servers":{}}}', 'wrong_layout'],
  ['the legacy layout', '{"servers":{"a":{"image":"b"}}}', 'legacy'],
  ['the legacy layout with remotes only', '{"remote_servers":{}}', 'legacy'],
  ['the legacy layout with groups only', '{"groups":[]}', 'legacy'],
  ['an upstream document without entries', '{"data":{}}', 'empty'],
  ['a page without entries', '{"servers":[],"metadata":{}}', 'empty'],
])('rejects %s', (_name, text, fault) => {
  expect(parseDocument(text, READ_AT)).toEqual({ fault });
});

it('accepts a document that has plugins only', () => {
  expect(catalogIn('{"data":{"plugins":[{}]}}')).toMatchObject({ servers: [], skills: [], lastUpdated: READ_AT });
});

it('leaves out entries that do not fit their schema, and keeps the others', () => {
  const servers = [null, 'a', {}, { ...ECHO, name: 'no-namespace' }, { ...ECHO, packages: {} }, NOTES];
  expect(namesIn(upstreamDocument({ servers }))).toEqual([NOTES.name]);
  const skills = [{ ...SUMMARY_SKILL, version: 1 }, SUMMARY_SKILL];
  expect(catalogIn(upstreamDocument({ skills })).skills).toEqual([SUMMARY_SKILL]);
});

it('keeps the latest version of a server', () => {
  const older = { server: { ...ECHO, version: '1.0.0' }, _meta: { [OFFICIAL]: { isLatest: false } } };
  const { servers } = catalogIn(JSON.stringify({ servers: [older, { server: ECHO }, { server: ECHO }] }));
  expect(servers.map(({ server }) => server.version)).toEqual(['1.2.0']);
});

it('keeps members that it does not know', () => {
  const icons = [{ src: 'https://example.com/icon.png' }];
  expect(catalogIn(upstreamDocument({ servers: [{ ...ECHO, icons }] })).servers[0]?.server).toMatchObject({ icons });
});

it('states the status and the time of a server without metadata of a registry', () => {
  const [record] = catalogIn(upstreamDocument({ servers: [ECHO] })).servers;
  expect(record?._meta[OFFICIAL]).toMatchObject({
    status: 'active',
    updatedAt: '2026-05-06T07:08:09Z',
    isLatest: true,
  });
});
