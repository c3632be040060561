import { describe, expect, it } from 'vitest';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { startManagementServer } from '../testdata/management-server.ts';
import { inMemoryWorkloads, workloadOf } from '../workloads/testdata/in-memory-workloads.ts';

const P = '/api/v1beta';

it('creates, lists, gets and deletes groups', async () => {
  const { send } = await startManagementServer();
  const created = await send('POST', `${P}/groups`, { name: 'my team' });
  expect([created.status, created.json]).toEqual([201, { name: 'my team' }]);
  expect((await send('GET', `${P}/groups`)).json).toEqual({
    groups: [
      { name: 'default', registered_clients: [] },
      { name: 'my team', registered_clients: [] },
    ],
  });
  expect((await send('GET', `${P}/groups/my%20team`)).json).toEqual({ name: 'my team', registered_clients: [] });
  expect((await send('DELETE', `${P}/groups/my%20team`)).status).toBe(204);
  expect((await send('GET', `${P}/groups/my%20team`)).status).toBe(404);
});

it.each([
  ['POST', '/groups', { name: 'Upper' }, 400],
  ['POST', '/groups', { name: ' edge' }, 400],
  ['POST', '/groups', { name: '' }, 400],
  ['POST', '/groups', { name: 'a'.repeat(255) }, 201],
  ['POST', '/groups', { name: 'a'.repeat(256) }, 400],
  ['POST', '/groups', { name: 'default' }, 409],
  ['DELETE', '/groups/default', undefined, 400],
  ['DELETE', '/groups/nobody', undefined, 404],
  ['GET', '/groups/a..b', undefined, 400],
  ['GET', '/groups/%2e%2e%2fsecrets', undefined, 400],
])('answers %s %s with %j by %i', async (method, path, body, status) => {
  const { send } = await startManagementServer();
  expect((await send(method, `${P}${path}`, body)).status).toBe(status);
});

it('says in plain words which names fit', async () => {
  const { send } = await startManagementServer();
  const rule = 'Name of the group: lower-case letters, digits, "_" and "-", with single spaces between words.';
  expect((await send('POST', `${P}/groups`, { name: 'Upper' })).text).toBe(`body.name is not valid: ${rule}\n`);
  expect((await send('GET', `${P}/groups/Upper`)).text).toBe(`path.name is not valid: ${rule}\n`);
  expect((await send('POST', `${P}/groups`, '[]')).text).toBe('body must be a JSON object\n');
  expect((await send('POST', `${P}/groups`, { name: 5 })).text).toBe('body.name must be a string\n');
  expect((await send('POST', `${P}/clients/register`, { names: [] })).text).toBe('body.names must not be empty\n');
});

describe('the workloads of a deleted group', () => {
  const start = async () => {
    const members = [workloadOf({ name: 'a', group: 'work' }), workloadOf({ name: 'b' })];
    const workloads = inMemoryWorkloads(members);
    const { send } = await startManagementServer({ workloads: () => workloads });
    await send('POST', `${P}/groups`, { name: 'work' });
    return { workloads, remove: (query = '') => send('DELETE', `${P}/groups/work${query}`) };
  };

  it('move to the default group', async () => {
    const { workloads, remove } = await start();
    expect((await remove()).status).toBe(204);
    expect(workloads.calls).toEqual([['edit', { group: 'default' }]]);
    expect((await workloads.get('a')).config.group).toBe('default');
  });

  it('are deleted with with-workloads=true', async () => {
    const { workloads, remove } = await start();
    expect((await remove('?with-workloads=true')).status).toBe(204);
    expect(workloads.calls).toEqual([['remove', ['a']]]);
  });

  it.each([
    ['invalid_workload', 400],
    ['image_not_found', 400],
    ['image_unavailable', 503],
  ])('keep their group when one of them no longer runs: %s', async (code, status) => {
    const { workloads, remove } = await start();
    workloads.failure = new OperationError(code, 'why');
    const advice = 'the workload "a" cannot move to the group default (why): edit or delete it, then try again\n';
    expect(await remove()).toMatchObject({ status, text: advice });
    expect((await workloads.get('a')).config.group).toBe('work');
  });

  it('keep their group when one of them cannot move', async () => {
    const { workloads, remove } = await start();
    workloads.failure = new OperationError('managed_by_files', 'work.yaml:3 has the workload');
    expect(await remove()).toMatchObject({ status: 400, text: 'work.yaml:3 has the workload\n' });
    expect((await remove()).status).toBe(204);
  });
});
