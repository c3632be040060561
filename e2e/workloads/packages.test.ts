import { expect, it } from 'vitest';
import { hasPython, withUv } from '../harness/python.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

const NOON_IN_TOKYO = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };

it.runIf(hasPython)('runs a server from PyPI: create, edit, restart, delete', { timeout: 240_000 }, async () => {
  const scope = testScope();
  const serve = await serveWorkloads(scope, await temporaryFolder(scope), await withUv());
  const { send } = serve;
  const time = { name: 'time', image: 'uvx://mcp-server-time', cmd_arguments: ['--local-timezone', 'UTC'] };
  expect(await send('POST', '/workloads', time)).toMatchObject({ status: 201 });
  await serve.reaches('time', 'running', 200_000);
  const { url, started_at: before } = await serve.find('time');
  expect(await callTool(url, 'convert_time', NOON_IN_TOKYO)).toContain('21:00');

  const edit = { tools: ['convert'], tools_override: { convert_time: { name: 'convert' } } };
  expect((await send('POST', '/workloads/time/edit', edit)).status).toBe(200);
  await eventually('the edit is applied', async () =>
    (await callTool(url, 'convert', NOON_IN_TOKYO)).includes('21:00'),
  );
  expect((await send('POST', '/workloads/time/restart')).status).toBe(202);
  await eventually('it has restarted', async () => (await serve.find('time')).started_at !== before);
  await serve.reaches('time', 'running');
  expect(await callTool(url, 'convert', NOON_IN_TOKYO)).toContain('21:00');

  expect((await send('DELETE', '/workloads/time')).status).toBe(202);
  await eventually('it is deleted', async () => (await serve.list()).length === 0);
  await eventually('its processes are gone', async () => (await serve.descendants()).length <= 1);
});
