import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { installFakeEngine } from './fake-engine.ts';
import { serveWorkloads } from './serve-workloads.ts';

it('row 104: answers 400 for a mount of the machine or of the state of vmcp', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const folder = await temporaryFolder(scope);
  const { env } = await installFakeEngine(scope);
  const { send, reaches } = await serveWorkloads(scope, state, env);
  await symlink(state, join(folder, 'link'));
  await symlink('/etc', join(folder, 'etc'));
  const box = { name: 'box', image: 'example/server:1', network_isolation: false };
  const refused = [
    ['/', 'whole file system'],
    [state, 'state folder of vmcp'],
    [join(folder, 'link', 'workloads'), 'state folder of vmcp'],
    [join(folder, '..', 'etc'), 'does not exist'],
    ['/etc/hosts', 'gives access to /etc'],
    [join(folder, 'etc'), 'gives access to /etc'],
    ['/proc/self/cwd', 'gives access to /proc'],
    ['/sys', 'gives access to /sys'],
    ['/dev/shm', 'gives access to /dev'],
    ['/boot', 'gives access to /boot'],
    ['notes', 'must be absolute'],
    [`${folder}/../..`, 'must not contain ".."'],
  ] as const;
  for (const [host, reason] of refused) {
    const { status, text } = await send('POST', '/workloads', { ...box, volumes: [`${host}:/data`] });
    expect(`${host}: ${String(status)} ${text}`).toContain(`${host}: 400`);
    expect(text).toContain(reason);
  }
  expect((await send('POST', '/workloads', { ...box, volumes: [`${folder}:/data`] })).status).toBe(201);
  await reaches('box', 'running');
  expect((await send('POST', '/workloads/box/edit', { volumes: [`${state}:/data`] })).status).toBe(400);
  const permission_profile = { privileged: true };
  const system = { ...box, name: 'system', volumes: ['/etc/hosts:/data:ro'], permission_profile };
  expect((await send('POST', '/workloads', system)).status).toBe(201);
});
