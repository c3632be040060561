import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { eventually } from '../harness/poll.ts';
import { stillRunning } from '../harness/process-tree.ts';
import { testScope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

const EVERYTHING = 'npx://@modelcontextprotocol/server-everything';

interface Listed {
  readonly name: string;
  readonly status: string;
  readonly port: number;
  readonly tools?: readonly string[];
}

it('keeps every acknowledged change through kill -9 during 200 concurrent changes', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const first = await startServe(scope, state);
  const { send } = first;
  const process = { image: EVERYTHING, transport: 'streamable-http', cmd_arguments: ['streamableHttp'] };
  for (const name of ['process-a', 'process-b']) await send('POST', '/workloads', { name, ...process });
  const seeds = Array.from({ length: 60 }, (_, index) => `seed-${String(index)}`);
  await Promise.all(seeds.map((name) => send('POST', '/workloads', { name, url: remote.url })));
  await eventually(
    'a process serves',
    async () => (await send('GET', '/workloads/process-a/status')).text.includes('running'),
    {
      timeoutMs: 60_000,
    },
  );
  const before = await first.descendants();

  const acknowledged = new Map<string, 'created' | 'edited' | 'stopped' | 'deleted'>();
  const note = async (
    name: string,
    kind: 'created' | 'edited' | 'stopped' | 'deleted',
    sent: Promise<{ status: number }>,
  ) => {
    if ((await sent).status < 300) acknowledged.set(name, kind);
  };
  const changes = [
    ...Array.from({ length: 140 }, (_, index) => `new-${String(index)}`).map((name) =>
      note(name, 'created', send('POST', '/workloads', { name, url: remote.url })),
    ),
    ...seeds.map((name, index) => {
      if (index % 3 === 0) return note(name, 'edited', send('POST', `/workloads/${name}/edit`, { tools: ['echo'] }));
      if (index % 3 === 1) return note(name, 'stopped', send('POST', `/workloads/${name}/stop`));
      return note(name, 'deleted', send('DELETE', `/workloads/${name}`));
    }),
  ];
  await eventually('some changes are acknowledged', () => acknowledged.size > 40);
  first.signal('SIGKILL');
  await Promise.allSettled(changes);
  await first.exited;

  const second = await startServe(scope, state);
  await eventually('nothing of the first process runs', async () => (await stillRunning(before)).length === 0, {
    timeoutMs: 20_000,
  });
  const list = async () =>
    ((await second.send('GET', '/workloads?all=true')).json as { workloads: Listed[] }).workloads;
  const byName = new Map((await list()).map((workload) => [workload.name, workload]));
  const wrong = [...acknowledged].filter(([name, kind]) => {
    const workload = byName.get(name);
    if (kind === 'deleted') return workload !== undefined && workload.status !== 'removing';
    if (kind === 'stopped') return workload?.status !== 'stopped' && workload?.status !== 'stopping';
    if (kind === 'edited') return workload?.tools?.[0] !== 'echo';
    return workload === undefined;
  });
  expect(wrong).toEqual([]);
  const ports = [...byName.values()].map(({ port }) => port);
  expect(new Set(ports).size).toBe(ports.length);
  await eventually('all run again', async () => (await list()).every(({ status }) => /running|stopped/u.test(status)), {
    timeoutMs: 60_000,
  });
  expect((await second.send('POST', '/workloads', { name: 'later', url: remote.url })).status).toBe(201);

  await second.send('POST', '/workloads/delete', { names: (await list()).map(({ name }) => name) });
  await eventually('all are gone', async () => (await list()).length === 0, { timeoutMs: 30_000 });
  await eventually('their processes are gone', async () => (await second.descendants()).length <= 1, {
    timeoutMs: 20_000,
  });
  expect(await readdir(join(state, 'workloads'))).toEqual([]);
  expect(await readdir(join(state, 'processes'))).toEqual([]);
  expect(JSON.parse(await readFile(join(state, 'server-ports.json'), 'utf8'))).toEqual({});
});
