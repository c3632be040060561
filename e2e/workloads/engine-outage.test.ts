import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { installFakeEngine } from './fake-engine.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

const STOPPED = 'the container engine has stopped: start it, and the workload continues';
const ABSENT = 'neither docker nor podman responds: start one of them, or use an npx:// or uvx:// reference';
const REMOVAL = 'the container engine does not respond: start it, and the container is removed';

async function start() {
  const scope = testScope();
  const engine = await installFakeEngine(scope);
  const state = await temporaryFolder(scope);
  const serve = await serveWorkloads(scope, state, engine.env);
  const create = (transport: string, name = 'box') =>
    serve.send('POST', '/workloads', { name, image: 'example/server:1', transport, network_isolation: false });
  const shows = (status: string, sentence: string) =>
    eventually(`it is ${status}: ${sentence}`, async () => {
      const { status: now, status_context: context } = await serve.find('box');
      return now === status && context === sentence;
    });
  return { ...serve, scope, engine, state, create, shows };
}

describe.concurrent('a container engine that stops', () => {
  it('in a pull makes create answer 503, and the next create works', async () => {
    const { engine, create, list, reaches } = await start();
    await engine.holdPulls();
    const answer = create('stdio');
    await eventually('it is pulling', engine.isPulling);
    await engine.stop();
    expect(await answer).toMatchObject({ status: 503, text: expect.stringContaining(STOPPED) as string });
    expect(await list()).toEqual([]);
    expect(await create('stdio')).toMatchObject({ status: 503, text: expect.stringContaining(ABSENT) as string });
    await engine.start();
    expect(await create('stdio')).toMatchObject({ status: 201 });
    await reaches('box', 'running');
  });

  it.each(['stdio', 'streamable-http'])('while a workload over %s runs lets it run again later', async (transport) => {
    const { engine, create, reaches, shows, find, send } = await start();
    expect(await create(transport)).toMatchObject({ status: 201 });
    await reaches('box', 'running');
    await engine.stop();
    await shows('starting', STOPPED);
    await shows('starting', ABSENT);
    expect(await send('POST', '/workloads/box/edit', { env_vars: { A: 'b' } })).toMatchObject({ status: 503 });
    await engine.start();
    await reaches('box', 'running');
    expect(await callTool((await find('box')).url, 'echo', {})).toBe('');
    expect(await engine.containers()).toHaveLength(1);
  });

  it.each(['stdio', 'streamable-http'])('lets a workload over %s start later', async (transport) => {
    const { engine, create, reaches, shows, send } = await start();
    expect(await create(transport)).toMatchObject({ status: 201 });
    await reaches('box', 'running');
    expect((await send('POST', '/workloads/box/stop')).status).toBe(202);
    await reaches('box', 'stopped');
    await engine.stop();
    expect((await send('POST', '/workloads/box/start')).status).toBe(202);
    await shows('starting', ABSENT);
    await engine.start();
    await reaches('box', 'running');
  });

  it.each(['stdio', 'streamable-http'])(
    'lets a stop and a delete over %s end once the container is gone',
    async (transport) => {
      const { engine, create, reaches, shows, send, list, state } = await start();
      for (const name of ['box', 'other']) expect(await create(transport, name)).toMatchObject({ status: 201 });
      for (const name of ['box', 'other']) await reaches(name, 'running');
      await engine.stop();
      expect((await send('POST', '/workloads/box/stop')).status).toBe(202);
      await shows('stopping', REMOVAL);
      expect((await send('DELETE', '/workloads/box')).status).toBe(202);
      await shows('removing', REMOVAL);
      expect(await engine.containers()).toHaveLength(2);
      await engine.start();
      await eventually('it is gone', async () => (await list()).every(({ name }) => name === 'other'));
      await reaches('other', 'running');
      const left = await engine.containers();
      expect(left).toHaveLength(1);
      expect(left[0]).toContain('other');
      expect(await readdir(join(state, 'processes'))).toHaveLength(1);
    },
  );

  it('before vmcp is stopped keeps the container for the next start to remove', async () => {
    const { engine, create, reaches, stop, scope, state } = await start();
    expect(await create('stdio')).toMatchObject({ status: 201 });
    await reaches('box', 'running');
    const before = await engine.containers();
    await engine.stop();
    await stop();
    expect(await engine.containers()).toEqual(before);
    const second = await serveWorkloads(scope, state, engine.env);
    expect((await second.send('DELETE', '/workloads/box')).status).toBe(202);
    await eventually('it is being removed', async () => (await second.find('box')).status_context === REMOVAL);
    await engine.start();
    await eventually('it is gone', async () => (await second.list()).length === 0);
    expect(await engine.containers()).toEqual([]);
    expect(await readdir(join(state, 'processes'))).toEqual([]);
  });
});
