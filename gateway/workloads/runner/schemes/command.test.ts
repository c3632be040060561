import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { checkImage } from '../launcher.ts';
import { openFixture, type Fixture } from '../testdata/fixture.ts';

let fixture: Fixture;
let bin: string;

/** Prints the arguments, the folder and the names of the variables. */
const SCRIPT = '#!/bin/sh\necho "$# $1"\npwd -P\nenv | cut -d= -f1 | sort | tr "\\n" " "\n';

beforeEach(() => {
  const hostEnv: Record<string, string> = { HOME: '/root', HOST_SECRET: 'canary', npm_config_registry: 'http://r' };
  fixture = openFixture({ hostEnv });
  bin = join(fixture.stateDir, 'my bin');
  mkdirSync(bin);
  hostEnv['PATH'] = `relative:${bin}:/usr/bin:/bin`;
  writeFileSync(join(bin, 'my-server'), SCRIPT);
  chmodSync(join(bin, 'my-server'), 0o755);
});
afterEach(() => fixture.close());

const prepare = (process: BackendProcess, port?: number) =>
  fixture.launcher.prepare(process, 'demo', port === undefined ? {} : { port });

async function lines(process: BackendProcess): Promise<string[]> {
  const child = fixture.launcher.spawn(await prepare(process), { name: 'demo', stdin: false });
  return (await text(child.stdout)).trim().split('\n');
}

describe('command://', () => {
  it.each([
    ['by its name', () => 'command://my-server'],
    ['by its path', () => `command://${join(bin, 'my-server')}`],
  ])('runs a program %s, without a shell', async (_how, image) => {
    const [args] = await lines({ image: image(), args: ['$HOME; "a b" *'] });
    expect(args).toBe('1 $HOME; "a b" *');
  });

  it('gives it the declared environment and no other variables of this process', async () => {
    const file = join(fixture.stateDir, 'key');
    writeFileSync(file, 'v\n');
    const process = { image: 'command://my-server', env_vars: { MODE: 'fast' }, env_var_files: { KEY: file } };
    const names = (await lines(process))[2]?.trim().split(' ');
    expect(names?.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name))).toEqual([
      'HOME',
      'KEY',
      'MCP_TRANSPORT',
      'MODE',
      'PATH',
    ]);
  });

  it.each(['env_vars', 'env_var_files'])('finds it on the PATH in %s, and not on that of vmcp', async (member) => {
    const other = join(fixture.stateDir, 'other');
    const file = join(fixture.stateDir, 'path');
    mkdirSync(other);
    writeFileSync(join(other, 'my-server'), SCRIPT, { mode: 0o755 });
    writeFileSync(file, `${other}\n`);
    const found = await prepare({
      image: 'command://my-server',
      [member]: { PATH: member === 'env_vars' ? other : file },
    });
    expect(found.file).toBe(join(other, 'my-server'));
    await expect(prepare({ image: 'command://sh', env_vars: { PATH: other } })).rejects.toMatchObject({
      reason: 'ProgramNotFound',
    });
  });

  it('starts it in its working folder', async () => {
    expect((await lines({ image: 'command://my-server', working_dir: bin }))[1]).toBe(realpathSync(bin));
  });

  it('tells an HTTP server its port', async () => {
    const { env } = await prepare({ image: 'command://my-server' }, 4567);
    expect(env).toMatchObject({ PORT: '4567', HOST: '127.0.0.1', MCP_TRANSPORT: 'streamable-http' });
  });

  it.each([
    [{ image: 'command://nowhere-on-path' }, 'nowhere-on-path is not on PATH'],
    [{ image: 'command:///nowhere/server' }, '/nowhere/server is not an executable file'],
    [{ image: 'command:///usr/bin' }, '/usr/bin is not an executable file'],
    [{ image: 'command://sh', working_dir: '/nowhere/folder' }, 'the working folder /nowhere/folder does not exist'],
    [{ image: 'command://sh', working_dir: 'tmp' }, 'the working folder tmp does not exist'],
  ])('reports %j', async (process, message) => {
    const error: unknown = await prepare(process).catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      reason: 'ProgramNotFound',
      problem: { message: expect.stringContaining(message) as unknown, permanent: false },
    });
  });

  it.each(['command://node', 'command://python3.12', 'command:///opt/My Tools/server', 'command://g++'])(
    'accepts %s',
    (image) => {
      expect(() => checkImage(image)).not.toThrow();
    },
  );

  it.each([
    ...['command://', 'command://./server', 'command://../server', 'command://bin/server', 'command://node server.js'],
    ...['command://-c', 'command://~/server', 'command:///', 'command:///bin/', 'command:///a\nb', 'COMMAND://sh'],
  ])('rejects %j', (image) => {
    expect(() => checkImage(image)).toThrow(expect.objectContaining({ reason: 'InvalidImageReference' }));
  });
});
