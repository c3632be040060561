import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../operations.ts';
import { startManagementServer } from '../testdata/management-server.ts';
import { OFFICIAL } from './document/catalog.ts';
import { ECHO, NOTES, SUMMARY_SKILL, upstreamDocument } from './document/testdata/records.ts';
import { protocolAnswers, startRegistry } from './testdata/registry-server.ts';

const BASE = '/registry/default/v0.1';

async function startWithFile() {
  const server = await startManagementServer();
  const path = join(server.stateDir, 'own.json');
  writeFileSync(path, upstreamDocument());
  await server.send('PUT', '/api/v1beta/registry/default', { local_path: path });
  return (route: string) => server.send('GET', `${BASE}${route}`);
}

const schemaOf = (id: string) => OPERATIONS.find((operation) => operation.id === id)!.success.body!;

it('lists servers as the registry protocol does', async () => {
  const get = await startWithFile();
  const page = await get('/servers');
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(Value.Check(schemaOf('listProtocolServers'), page.json)).toBe(true);
  expect(page.json).toMatchObject({
    servers: [{ server: ECHO, _meta: { [OFFICIAL]: { status: 'active', isLatest: true } } }, { server: NOTES }],
    metadata: { count: 2 },
  });
  const first = await get('/servers?limit=1&version=latest');
  expect(first.json).toMatchObject({ servers: [{ server: ECHO }], metadata: { count: 1, nextCursor: ECHO.name } });
  const next = await get(`/servers?limit=1&cursor=${encodeURIComponent(ECHO.name)}`);
  expect(next.json).toMatchObject({ servers: [{ server: NOTES }] });
  expect((await get('/servers?search=KEEPS')).json).toMatchObject({ servers: [{ server: NOTES }] });
  expect((await get('/servers?q=nothing&limit=many&page=-1')).json).toEqual({ servers: [], metadata: { count: 0 } });
});

it('returns the latest and an exact version of a server, without a token', async () => {
  const get = await startWithFile();
  const latest = await get('/servers/com.example%2Fecho/versions/latest');
  expect([latest.status, latest.json]).toMatchObject([200, { server: ECHO }]);
  expect(Value.Check(schemaOf('getProtocolServer'), latest.json)).toBe(true);
  expect((await get('/servers/com.example%2Fecho/versions/1.2.0')).status).toBe(200);
  for (const route of ['/servers/com.example%2Fecho/versions/9', '/servers/echo/versions/latest']) {
    expect(await get(route)).toMatchObject({ status: 404, json: { code: 'not_found' } });
  }
  expect(await get('/servers/%ff/versions/latest')).toMatchObject({ status: 400, json: { code: 'bad_request' } });
});

it('lists and returns skills, for any registry name and vendor', async () => {
  const get = await startWithFile();
  const page = await get('/x/dev.vmcp/skills?q=SUMMARY');
  expect(page.json).toEqual({ skills: [SUMMARY_SKILL], metadata: { page: 1, limit: 50, total: 1 } });
  expect(Value.Check(schemaOf('listRegistrySkills'), page.json)).toBe(true);
  expect((await get('/x/com.other/skills?page=999&limit=500')).json).toEqual({
    skills: [],
    metadata: { page: 999, limit: 200, total: 1 },
  });
  const skill = await get('/x/dev.vmcp/skills/com.example/summary');
  expect([skill.status, skill.json]).toEqual([200, SUMMARY_SKILL]);
  expect(await get('/x/dev.vmcp/skills/com.example/Summary')).toMatchObject({
    status: 404,
    json: { code: 'not_found' },
  });
});

it('answers 500 with a code when the settings are damaged', async () => {
  const server = await startManagementServer();
  writeFileSync(join(server.stateDir, 'registry.json'), '{"type":"other"}');
  expect(await server.send('GET', `${BASE}/x/dev.vmcp/skills`)).toMatchObject({
    status: 500,
    json: { code: 'internal_error' },
  });
});

it('takes skills from a server of the protocol, and answers 503 when only they cannot be read', async () => {
  const registry = await startRegistry();
  registry.answer(protocolAnswers([[ECHO]], [SUMMARY_SKILL]));
  const server = await startManagementServer();
  const settings = { api_url: registry.url, allow_private_ip: true };
  await server.send('PUT', '/api/v1beta/registry/default', settings);
  const skills = () => server.send('GET', `${BASE}/x/dev.vmcp/skills`);
  expect((await skills()).json).toMatchObject({ skills: [SUMMARY_SKILL] });

  const servers = protocolAnswers([[ECHO]]);
  registry.answer((path, query) => (path.endsWith('/skills') ? { status: 500 } : servers(path, query)));
  await server.send('POST', '/api/v1beta/registry/default/refresh');
  expect((await skills()).json).toMatchObject({ skills: [SUMMARY_SKILL] });
  await server.send('PUT', '/api/v1beta/registry/default', settings);
  expect(await skills()).toMatchObject({ status: 503, json: { code: 'registry_unavailable' } });
  expect((await server.send('GET', `${BASE}/servers`)).status).toBe(200);
});
