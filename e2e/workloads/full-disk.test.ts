import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

/** Mounts a disk of 1 MiB at a folder, in a mount namespace that ends with the command that follows. */
const withSmallDisk = (folder: string): string[] => [
  ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c'],
  'mount -t tmpfs -o size=1m,mode=700 none "$0" && exec "$@"',
  folder,
];
const isPossible = (): boolean => {
  const [file = '', ...args] = withSmallDisk('/mnt');
  return spawnSync(file, [...args, 'true']).status === 0;
};

/** A change of each store, and its status on a disk with space. */
const changesWith = (remoteUrl: string) =>
  [
    ['POST', '/groups', { name: 'team' }, 201],
    ['POST', '/secrets/default/keys', { key: 'token', value: 'val-1' }, 201],
    ['POST', '/clients', { name: 'cursor' }, 200],
    ['POST', '/workloads', { name: 'other', url: remoteUrl }, 201],
  ] as const;
const CHANGES_OF_DOCS = [
  ['POST', '/workloads/docs/edit', { tools: ['echo'] }, 200],
  ['POST', '/workloads/docs/stop', undefined, 202],
  ['DELETE', '/workloads/docs', undefined, 202],
] as const;

/** Starts `vmcp serve` with its state on a small disk. `disk` is the folder as the process sees it. */
async function startOnSmallDisk() {
  const scope = testScope();
  const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'docs');
  const state = await temporaryFolder(scope);
  const serve = await serveWorkloads(scope, state, {}, { launcher: withSmallDisk(state) });
  expect((await serve.send('POST', '/secrets', { provider_type: 'encrypted' })).status).toBeLessThan(300);
  return { ...serve, remote, state, disk: `/proc/${String(serve.pid)}/root${state}` };
}

function fill(file: string): void {
  for (let bytes = 2 ** 20; bytes >= 1; bytes /= 4) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
}

describe.runIf(isPossible())('vmcp serve', () => {
  it('rejects changes on a full disk, and changes nothing', async () => {
    const { send, reaches, find, remote, disk } = await startOnSmallDisk();
    expect((await send('POST', '/workloads', { name: 'docs', url: remote.url })).status).toBe(201);
    await reaches('docs', 'running');
    const { url } = await find('docs');
    const read = () => Promise.all(['/groups', '/workloads?all=true'].map((path) => send('GET', path)));
    const before = await read();
    const filler = join(disk, 'filler');
    fill(filler);
    const changes = [...changesWith(remote.url), ...CHANGES_OF_DOCS];
    for (const [method, path, body] of changes) {
      const { status, text } = await send(method, path, body);
      expect([path, status, text]).toEqual([path, 500, 'the disk of vmcp is full: free some space, then try again\n']);
    }
    expect(await read()).toEqual(before);
    expect(readdirSync(disk, { recursive: true }).filter((file) => String(file).endsWith('.draft'))).toEqual([]);

    expect((await send('POST', '/workloads/docs/restart')).status).toBe(202); // needs no space
    await eventually('a tool answers', async () => (await callTool(url, 'echo', { text: 'one' })).includes('one'));
    await reaches('docs', 'running');

    rmSync(filler);
    for (const [method, path, body, status] of changes)
      expect([path, (await send(method, path, body)).status]).toEqual([path, status]);
  });

  it('rejects changes while its state folder is read-only', async () => {
    const { send, pid, remote, state } = await startOnSmallDisk();
    const remount = (mode: string): number | null => {
      const argv = ['--mount', '--target', String(pid), 'mount', '-o', `remount,${mode}`, state];
      return spawnSync('nsenter', argv).status;
    };
    expect(remount('ro')).toBe(0);
    for (const [method, path, body] of changesWith(remote.url)) {
      const { status, text } = await send(method, path, body);
      const advice = 'the state folder of vmcp is read-only: make it writable, then try again\n';
      expect([path, status, text]).toEqual([path, 500, advice]);
    }
    expect(remount('rw')).toBe(0);
    for (const [method, path, body, status] of changesWith(remote.url))
      expect([path, (await send(method, path, body)).status]).toEqual([path, status]);
  });
});
