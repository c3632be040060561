import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkImage } from '../launcher.ts';
import type { Command } from '../runner.ts';
import { openFixture, type Fixture } from '../testdata/fixture.ts';
import { startRegistry } from '../testdata/npm-registry.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const print = (line: string) => `console.log(${JSON.stringify(line)}, ...process.argv.slice(2))`;

/** Script of an installation: keeps the variables that it sees, and fails without `PUPPETEER_SKIP_DOWNLOAD`. */
const INSTALL = `
const { PUPPETEER_SKIP_DOWNLOAD: skip = 'no', OWN_SWITCH: own = 'no', API_KEY: key = 'no' } = process.env;
if (skip === 'no') {
  console.error('ERROR: Failed to set up chrome! Set "PUPPETEER_SKIP_DOWNLOAD" env variable to skip download.');
  process.exit(1);
}
require('fs').writeFileSync('installed.json', JSON.stringify([skip, own, key].join(' ')));`;

let registry: Awaited<ReturnType<typeof startRegistry>>;
let fixture: Fixture;
let cache: string;

beforeAll(async () => {
  registry = await startRegistry([
    { name: '@acme/tool', version: '1.0.0', bin: { tool: 'cli.js' }, files: { 'cli.js': print('tool 1.0.0') } },
    { name: '@acme/tool', version: '1.2.0', bin: { tool: 'cli.js' }, files: { 'cli.js': print('tool 1.2.0') } },
    { name: 'library', version: '1.0.0' },
    { name: 'many', version: '1.0.0', bin: { one: 'one.js', two: 'two.js' } },
    {
      name: 'helper',
      version: '1.0.0',
      bin: { help: 'help.js' },
      files: { 'help.js': `#!/usr/bin/env node\n${print('helper')}` },
    },
    { name: 'for-sh', version: '1.0.0', bin: { 'for-sh': 'run.sh' }, files: { 'run.sh': '#!/bin/sh\necho "sh $1"\n' } },
    {
      name: 'downloads',
      version: '1.0.0',
      bin: { downloads: 'cli.js' },
      files: {
        'cli.js': `console.log(require('./installed.json'), process.env.PUPPETEER_SKIP_DOWNLOAD)`,
        'install.js': INSTALL,
      },
      scripts: { install: 'node install.js' },
    },
    {
      name: 'main-of-many',
      version: '1.0.0',
      bin: { 'main-of-many': 'a.js', other: 'b.js' },
      files: { 'a.js': print('a'), 'b.js': print('b') },
    },
  ]);
});
afterAll(() => registry.close());

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'vmcp-npm-'));
  const hostEnv = { ...process.env, npm_config_registry: registry.url, npm_config_cache: cache };
  fixture = openFixture({ hostEnv, projectRoot: join(ROOT, 'gateway') });
  registry.downloads.length = 0;
});
afterEach(async () => {
  await fixture.close();
  rmSync(cache, { recursive: true, force: true });
});

const prepare = (image: string, args: string[] = []): Promise<Command> =>
  fixture.launcher.prepare({ image, args }, 'demo');

const output = async (command: Command): Promise<string> =>
  (await text(fixture.launcher.spawn(command, { name: 'demo', stdin: false }).stdout)).trim();

describe('npx:// with a package of the project', () => {
  it.each(['everything', 'memory', 'filesystem'])('runs the project’s own copy of server-%s', async (name) => {
    const command = await prepare(`npx://@modelcontextprotocol/server-${name}`, ['x']);
    expect(command.file).toBe(process.execPath);
    expect(command.args).toEqual([join(ROOT, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), 'x']);
    expect(existsSync(join(fixture.stateDir, 'packages'))).toBe(false);
  });

  it.each([
    ['1.2.0', true],
    ['1.2', true],
    ['1', true],
    ['1.2.1', false],
    ['1.20', false],
    ['2', false],
  ])('asked for as @%s: own copy of 1.2.0 is used: %s', async (version, own) => {
    const project = join(fixture.stateDir, 'project');
    const dir = join(project, 'node_modules', 'nowhere-else');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ version: '1.2.0', bin: './cli.js' }));
    const hostEnv = { ...process.env, npm_config_registry: registry.url };
    const { launcher, close } = openFixture({ hostEnv, projectRoot: join(project, 'deep', 'below') });
    const prepared = launcher.prepare({ image: `npx://nowhere-else@${version}` }, 'demo');
    if (own) expect((await prepared).args).toEqual([join(dir, 'cli.js')]);
    else await expect(prepared).rejects.toMatchObject({ reason: 'PackageNotFound' });
    await close();
  });
});

describe('npx:// with another package', () => {
  it('installs it once for concurrent calls in one or several processes', async () => {
    const rival = fixture.another();
    const process = { image: 'npx://@acme/tool@1.0.0', args: ['--flag'] };
    const launchers = [fixture.launcher, fixture.launcher, rival, rival];
    const commands = await Promise.all(launchers.map((launcher) => launcher.prepare(process, 'demo')));
    expect(registry.downloads).toEqual(['/@acme/tool-1.0.0.tgz']);
    expect(new Set(commands.map(({ args }) => args[0])).size).toBe(1);
    expect(fixture.logged.filter(({ message }) => message === 'installing package')).toHaveLength(1);
    expect(await output(commands[0]!)).toBe('tool 1.0.0 --flag');
  });

  it('separates versions and uses the newest by default', async () => {
    expect(await output(await prepare('npx://@acme/tool@1.0.0'))).toBe('tool 1.0.0');
    expect(await output(await prepare('npx://@acme/tool'))).toBe('tool 1.2.0');
    expect(await output(await prepare('npx://main-of-many'))).toBe('a');
  });

  it('restarts an install that was killed', async () => {
    const dir = join(fixture.stateDir, 'packages', 'npm', '@acme+tool@1.0.0');
    mkdirSync(join(dir, 'node_modules', '@acme', 'tool'), { recursive: true });
    writeFileSync(`${dir}.lock`, JSON.stringify({ pid: 4_194_303, startTime: 'gone' }));
    expect(await output(await prepare('npx://@acme/tool@1.0.0'))).toBe('tool 1.0.0');
    expect(existsSync(`${dir}.lock`)).toBe(false);
  });

  it.each([
    ['npx://nobody-has-this', 'PackageNotFound', 'nobody-has-this@latest'],
    ['npx://@acme/tool@9.9.9', 'PackageNotFound', '@acme/tool@9.9.9'],
    ['npx://library', 'PackageHasNoBin', 'has no command'],
    ['npx://many', 'PackageHasNoBin', 'one, two'],
  ])('%s: %s', async (image, reason, part) => {
    await expect(prepare(image)).rejects.toMatchObject({ reason, message: expect.stringContaining(part) as unknown });
  });

  it('reports an unreachable registry and a missing npm', async () => {
    const closed = openFixture({
      hostEnv: { ...process.env, npm_config_registry: 'http://127.0.0.1:9' },
    });
    const noNpm = openFixture({ hostEnv: { PATH: '/nonexistent' } });
    const install = (one: Fixture) => one.launcher.prepare({ image: 'npx://nobody-has-this' }, 'demo');
    await expect(install(closed)).rejects.toMatchObject({
      reason: 'InstallFailed',
      message: expect.stringContaining('reason: connect ECONNREFUSED 127.0.0.1:9') as unknown,
      problem: { message: expect.stringContaining('reason: connect ECONNREFUSED') as unknown },
    });
    await expect(install(noNpm)).rejects.toMatchObject({
      reason: 'InstallFailed',
      message: expect.stringContaining('PATH') as unknown,
    });
    await Promise.all([closed.close(), noNpm.close()]);
  });
});

describe('the choices about a package', () => {
  it.each([
    ['npx://main-of-many', { command: 'other' }, 'b'],
    ['npx://main-of-many', { command: 'help', with: ['helper@1'] }, 'helper'],
    ['npx://for-sh', {}, 'sh x'],
  ])('%s with %j', async (image, choices, expected) => {
    const command = await fixture.launcher.prepare({ image, args: ['x'], package: choices }, 'demo');
    expect(await output(command)).toMatch(new RegExp(`^${expected}`, 'u'));
  });

  it.each([
    ['the environment of the server', { env_vars: { PUPPETEER_SKIP_DOWNLOAD: 'e', API_KEY: 'k' } }, 'e no no e'],
    ['installEnv', { package: { install_env: { PUPPETEER_SKIP_DOWNLOAD: 'i', OWN_SWITCH: 'o' } } }, 'i o no undefined'],
  ])('gives the script of an installation the variables of %s', async (_from, settings, expected) => {
    const command = await fixture.launcher.prepare({ image: 'npx://downloads', ...settings }, 'demo');
    expect(await output(command)).toBe(expected);
  });

  it('gives it also those in files, as imported servers have them', async () => {
    const file = join(fixture.stateDir, 'skip');
    writeFileSync(file, 'f\n');
    const env_var_files = { PUPPETEER_SKIP_DOWNLOAD: file, API_KEY: file };
    const command = await fixture.launcher.prepare({ image: 'npx://downloads', env_var_files }, 'demo');
    expect(await output(command)).toBe('f no no f');
  });

  it('names the cause of a failed script, also for the status', async () => {
    const failed = fixture.launcher.prepare({ image: 'npx://downloads' }, 'demo');
    const cause = expect.stringContaining('Failed to set up chrome! Set "PUPPETEER_SKIP_DOWNLOAD"') as unknown;
    await expect(failed).rejects.toMatchObject({
      reason: 'InstallFailed',
      message: cause,
      problem: { message: cause },
    });
  });

  it('names the commands that a package has instead of the chosen one', async () => {
    const prepared = fixture.launcher.prepare({ image: 'npx://main-of-many', package: { command: 'three' } }, 'demo');
    const message =
      'package main-of-many has no command three, but main-of-many, other: set package.command to one of them';
    await expect(prepared).rejects.toMatchObject({ reason: 'PackageHasNoBin', message });
  });
});

describe('an HTTP server', () => {
  it('gets its port and address, which the declared environment cannot change', async () => {
    const image = 'npx://@modelcontextprotocol/server-everything';
    const env_vars = { PORT: '1', MCP_TRANSPORT: 'http', KEY: 'v' };
    const { env } = await fixture.launcher.prepare({ image, env_vars }, 'demo', { port: 4567, transport: 'sse' });
    expect(env).toMatchObject({ PORT: '4567', MCP_PORT: '4567', FASTMCP_PORT: '4567', HOST: '127.0.0.1' });
    expect(env).toMatchObject({ MCP_TRANSPORT: 'http', KEY: 'v' });
  });
});

describe('checkImage', () => {
  it.each([
    'npx://server',
    'npx://@scope/server@1.0.0-rc.1',
    'npx://server@latest',
    'npx://server@^1.2.0',
    'uvx://mcp-server-fetch',
    'uvx://Server[cli,rich]==2025.1.17',
    'alpine',
    'ghcr.io/acme/server:1.0',
    'localhost:5000/a/b__c@sha256:'.concat('a'.repeat(64)),
    '127.0.0.1:5000/x',
    '[::1]:5000/x:y',
  ])('accepts %s', (image) => {
    expect(() => checkImage(image)).not.toThrow();
  });

  it.each([
    '',
    'npx://',
    'npx://Upper',
    'npx://../up',
    'npx://a b',
    'npx://a@',
    'npx://a@../b',
    'npx://a@git+ssh://x',
    'npx://-g',
    'npx://@scope',
    'npx://a@--ignore',
    'uvx://',
    'uvx://a@1',
    'uvx://a==',
    'uvx://--index',
    'uvx://a==1 b',
    'uvx://../a',
    'go://x/y',
    'http://x/y',
    '-v',
    '--privileged',
    '-p8080:80/tcp',
    '-v/etc:x',
    'Upper/Case',
    'a:tag:tag',
    'a b',
    'a@sha256:12',
    '/etc/passwd',
  ])('rejects "%s"', (image) => {
    expect(() => checkImage(image)).toThrow(expect.objectContaining({ reason: 'InvalidImageReference' }));
  });
});

it('passes neither the installer’s variables to the server nor the server’s to the installer', async () => {
  const env_vars = { NODE_OPTIONS: '--require=/nowhere.cjs', npm_config_registry: 'http://127.0.0.1:9' };
  const { env } = await fixture.launcher.prepare({ image: 'npx://@acme/tool@1.0.0', env_vars }, 'demo');
  expect(Object.keys(env).filter((name) => name.startsWith('npm_'))).toEqual(['npm_config_registry']);
  expect(env).toMatchObject(env_vars);
  expect(readFileSync(join(fixture.stateDir, 'packages', 'npm', '@acme+tool@1.0.0', 'package.json'), 'utf8')).toContain(
    'private',
  );
});
