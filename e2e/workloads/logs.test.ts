import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { publishScripted, SCRIPTED } from './scripted-server.ts';

it('keeps the logs of workloads apart, whatever their names are', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const { send } = await startServe(scope, state, [], { env: await publishScripted(scope) });
  const crash = { image: SCRIPTED, cmd_arguments: ['crash'] };
  for (const name of ['a', 'a.proxy']) expect((await send('POST', '/workloads', { name, ...crash })).status).toBe(201);
  const logs = async (path: string) => (await send('GET', `/workloads/${path}`)).text;
  await eventually('both have ended', async () =>
    (await Promise.all([logs('a/logs'), logs('a.proxy/logs')])).every((text) => text.includes('it ends now')),
  );
  expect((await send('DELETE', '/workloads/a.proxy')).status).toBe(202);
  await eventually('one is gone', async () => (await send('GET', '/workloads/a.proxy')).status === 404);
  await eventually('its folder is gone', async () => !(await readdir(join(state, 'logs'))).includes('a.proxy'));
  expect(await readdir(join(state, 'logs', 'a'))).toEqual(expect.arrayContaining(['proxy.log', 'server.log']));
  expect(await logs('a/logs')).toContain('it ends now');
});

it.each(['stdio', 'streamable-http'])(
  'serves on while a server over %s prints 100 MB',
  { timeout: 60_000 },
  async (transport) => {
    const scope = testScope();
    const { send } = await startServe(scope, await temporaryFolder(scope), [], { env: await publishScripted(scope) });
    const loud = { name: 'loud', image: SCRIPTED, transport, cmd_arguments: ['loud'] };
    expect((await send('POST', '/workloads', loud)).status).toBe(201);
    await expect
      .poll(async () => (await send('GET', '/workloads/loud/status')).json, { timeout: 20_000 })
      .toEqual({ status: 'running' });
    await expect
      .poll(async () => (await send('GET', '/workloads/loud/logs')).text, { timeout: 20_000 })
      .toMatch(/\[\d+ lines were dropped: the server writes too fast\]/u);
  },
);
