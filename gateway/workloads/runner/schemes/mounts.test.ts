import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LaunchError } from '../runner.ts';
import { checkMounts } from './container.ts';

const dir = mkdtempSync(join(tmpdir(), 'vmcp-mounts-'));
const at = (name: string): string => join(dir, name);
const machine = { stateDir: at('home/state'), hostEnv: { DOCKER_HOST: `unix://${at('run/engine/docker.sock')}` } };
let socket: Server;

beforeAll(async () => {
  for (const name of ['home/state/workloads', 'data/notes', 'run/engine', 'run/other'])
    mkdirSync(at(name), { recursive: true });
  writeFileSync(at('data/file.txt'), '');
  const links = {
    '/': 'to-root',
    [at('home/state')]: 'to-state',
    [at('data')]: 'to-data',
    [at('run/engine')]: 'to-engine',
    '/etc': 'to-etc',
    '/proc/self': 'to-self',
    [at('none')]: 'to-nothing',
    [at('with:colon')]: 'to-colon',
  };
  mkdirSync(at('with:colon'));
  for (const [target, name] of Object.entries(links)) symlinkSync(target, at(name));
  socket = createServer().listen(at('run/engine/docker.sock'));
  await new Promise((resolve) => socket.once('listening', resolve));
});
afterAll(() => {
  socket.close();
  rmSync(dir, { recursive: true, force: true });
});

const processOf = (path: string, privileged = false) => ({
  ...{ image: 'a', container: { volumes: [`${path}:/mnt:ro`], ...(privileged && { privileged }) } },
});

function faultOf(path: string, privileged = false): string | undefined {
  const process = processOf(path, privileged);
  try {
    checkMounts(process, machine);
    return undefined;
  } catch (error) {
    return error instanceof LaunchError ? `${error.reason} ${error.message}` : String(error);
  }
}

describe('a mount', () => {
  it.each([
    ['a folder', 'data/notes'],
    ['a file', 'data/file.txt'],
    ['a link to a folder', 'to-data'],
    ['a folder behind a link', 'to-data/notes'],
    ['a folder beside the state folder', 'data'],
    ['a folder beside the socket', 'run/other'],
  ])('can be %s', (_, name) => {
    expect(faultOf(at(name))).toBeUndefined();
  });

  it.each([
    ['a path that does not exist', at('none'), 'MountNotFound'],
    ['the root', '/', 'MountRefused', 'whole file system'],
    ['the root, written otherwise', '/.', 'MountRefused', 'whole file system'],
    ['a link to the root', at('to-root'), 'MountRefused', 'whole file system'],
    ['the state folder', at('home/state'), 'MountRefused', 'state folder of vmcp'],
    ['a folder in the state folder', at('home/state/workloads'), 'MountRefused', 'state folder of vmcp'],
    ['a folder with the state folder', at('home'), 'MountRefused', 'state folder of vmcp'],
    ['a link to the state folder', at('to-state'), 'MountRefused', 'state folder of vmcp'],
    ['a folder of the state folder behind a link', at('to-state/workloads'), 'MountRefused', 'state folder of vmcp'],
    ['the socket of the engine', at('run/engine/docker.sock'), 'MountRefused', 'container engine'],
    ['the folder of the socket', at('run/engine'), 'MountRefused', 'container engine'],
    ['a folder above the socket', at('run'), 'MountRefused', 'container engine'],
    ['a link to the folder of the socket', at('to-engine'), 'MountRefused', 'container engine'],
  ])('cannot be %s', (_, path, reason, text = 'does not exist') => {
    expect(faultOf(path)).toMatch(new RegExp(`^${reason} "${path}" of the volume ".*" .*${text}`, 'u'));
  });

  it.each([
    ...['/proc', '/sys', '/dev', '/etc', '/boot', '/etc/', '//etc', '/etc/.', '/proc/1/root', '/dev/null', '/dev/shm'],
    ...['/etc/passwd', '/etc/none', '/usr/../etc/hosts', '/proc/self/cwd', '/proc/self/fd/0', '/sys/fs/cgroup'],
    ...['to-etc', 'to-etc/hosts', 'to-self', 'to-self/ns'].map(at),
  ])('row 104: cannot be %s, unless the container is privileged', (path) => {
    expect(faultOf(path)).toMatch(/^MountRefused .*: mount another folder, or set privileged/u);
    expect(faultOf(path, true) ?? '').not.toMatch(/gives access to/u);
  });

  it('row 104: can be a folder whose name begins like one of the system', () => {
    for (const name of ['/etcetera', '/usr/etc', '/home/me/dev'])
      expect(faultOf(name) ?? '').not.toMatch(/MountRefused/u);
  });

  it('is what a link leads to, for the engine too', () => {
    const volumes = checkMounts(processOf(at('to-data/notes')), machine).container?.volumes;
    expect(volumes).toEqual([`${at('data/notes')}:/mnt:ro`]);
    expect(faultOf(at('to-nothing'))).toMatch(/^MountNotFound/u);
    expect(faultOf(at('to-colon'))).toMatch(/^MountRefused .* ":" no volume can contain: rename it/u);
  });

  it('can be the socket of the engine for a privileged container, which has this machine anyway', () => {
    expect(faultOf(at('run/engine/docker.sock'), true)).toBeUndefined();
    expect(faultOf(at('home/state'), true)).toContain('state folder of vmcp');
  });
});
