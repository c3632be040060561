import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { stillRunning } from '../harness/process-tree.ts';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { publishScripted, SCRIPTED } from './scripted-server.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

const SERVER = { image: SCRIPTED, transport: 'streamable-http' };

describe.each(['SIGTERM', 'SIGKILL'] as const)('%s of vmcp', (signal) => {
  /** Starts vmcp, changes workloads with `act`, ends it in the middle, and starts it again. */
  async function interrupt(act: (serve: Awaited<ReturnType<typeof serveWorkloads>>) => Promise<void>) {
    const scope = testScope();
    const state = await temporaryFolder(scope);
    const env = await publishScripted(scope);
    const first = await serveWorkloads(scope, state, env);
    await act(first);
    const before = await first.descendants();
    first.signal(signal);
    await first.exited;
    const second = await serveWorkloads(scope, state, env);
    const gone = async () => {
      const left = await stillRunning(before);
      if (left.length > 0) throw new Error(left.map(({ command }) => command).join('\n'));
      return true;
    };
    await eventually('nothing of the first process runs', gone, { timeoutMs: 60_000 });
    const servers = async () => (await readdir(join(state, 'processes'))).length;
    const ports = async () =>
      Object.keys(JSON.parse(await readFile(join(state, 'server-ports.json'), 'utf8')) as Record<string, number>);
    return { ...second, state, servers, ports };
  }

  it('in an edit keeps the new settings, and one server', { timeout: 180_000 }, async () => {
    const port = await freePort();
    const serve = await interrupt(async ({ send, reaches, descendants }) => {
      expect((await send('POST', '/workloads', { name: 'box', ...SERVER, proxy_port: port })).status).toBe(201);
      await reaches('box', 'running');
      const alone = (await descendants()).length;
      // this server never opens its port, so both run for a minute
      expect((await send('POST', '/workloads/box/edit', { cmd_arguments: ['closed'] })).status).toBe(200);
      await eventually('both servers run', async () => (await descendants()).length > alone);
    });
    const { send, reaches, find, servers, ports } = serve;
    expect((await send('GET', '/workloads/box')).json).toMatchObject({ cmd_arguments: ['closed'], proxy_port: port });
    expect((await send('POST', '/workloads/box/edit', { cmd_arguments: ['well'] })).status).toBe(200);
    await reaches('box', 'running');
    expect(await callTool((await find('box')).url, 'echo', {})).toBe('');
    await eventually('one server runs', async () => (await servers()) === 1, { timeoutMs: 20_000 });
    expect(await ports()).toHaveLength(1);
    expect((await send('DELETE', '/workloads/box')).status).toBe(202);
    await eventually('it is gone', async () => (await serve.list()).length === 0);
    expect(await servers()).toBe(0);
    expect(await ports()).toEqual([]);
  });

  it('in a create keeps every acknowledged workload, with one server', { timeout: 180_000 }, async () => {
    const acknowledged: string[] = [];
    const names = Array.from({ length: 6 }, (_, index) => `w${String(index)}`);
    const serve = await interrupt(async ({ send }) => {
      const create = async (name: string) => {
        const { status } = await send('POST', '/workloads', { name, ...SERVER });
        if (status === 201) acknowledged.push(name);
      };
      const created = Promise.allSettled(names.map(create));
      void created;
      await eventually('some are acknowledged', () => acknowledged.length >= 2, { intervalMs: 2 });
    });
    const found = (await serve.list()).map(({ name }) => name);
    expect(found).toEqual(expect.arrayContaining(acknowledged));
    for (const name of found) await serve.reaches(name, 'running');
    expect(await serve.servers()).toBe(found.length);
    expect(await serve.ports()).toHaveLength(found.length);
    for (const name of names.filter((each) => !found.includes(each)))
      expect((await serve.send('POST', '/workloads', { name, ...SERVER })).status).toBe(201);
  });
});
