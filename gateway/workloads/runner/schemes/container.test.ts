import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPortBook } from '../ports.ts';
import { reapOrphans } from '../process/reaper.ts';
import type { ProcessRecord } from '../process/records.ts';
import { supervise } from '../supervise.ts';
import { workingEngine } from '../testdata/engine.ts';
import { openFixture, recordingLog, until, type Fixture } from '../testdata/fixture.ts';

const IMAGE = 'localhost/vmcp-test-node:1';
const SERVER = `
  if (process.env.PORT) {
    require('node:http').createServer((q, r) => r.end(JSON.stringify(process.env))).listen(process.env.PORT, process.env.HOST);
  } else {
    if (process.env.LIST) {
      const fs = require('node:fs');
      const files = fs.readdirSync('/data', { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
      const path = (each) => each.parentPath + '/' + each.name;
      console.log(JSON.stringify(files.map((each) => path(each) + '=' + fs.readFileSync(path(each))).sort()));
      for (const change of [() => fs.rmSync('/data/.vmcpignore'), () => fs.writeFileSync('/data/secrets/x', '')])
        try { change(); console.log('changed'); } catch { console.log('refused'); }
    }
    console.log(JSON.stringify(process.env));
    process.stdin.pipe(process.stdout);
  }
  process.on('SIGTERM', () => process.exit(0));`;

const scratch = mkdtempSync(join(tmpdir(), 'vmcp-container-'));
const { name: engine, env: engineEnv } = workingEngine(scratch, { image: IMAGE, server: SERVER });
const hostEnv = { ...engineEnv, VMCP_CANARY: 'canary-77aa' };

let fixture: Fixture;
beforeEach(() => {
  fixture = openFixture({ hostEnv });
});
afterEach(() => fixture.close());
afterAll(() => {
  if (engine !== undefined) spawnSync(engine, ['rmi', '-f', IMAGE]);
  rmSync(scratch, { recursive: true, force: true });
});

describe('an image without an engine', () => {
  it('is rejected with advice when neither docker nor podman is installed', async () => {
    const bare = openFixture({ hostEnv: { PATH: scratch } });
    const prepared = bare.launcher.prepare({ image: 'alpine' }, 'demo');
    await expect(prepared).rejects.toMatchObject({
      reason: 'NoContainerEngine',
      message: expect.stringContaining('npx://') as unknown,
    });
    await bare.close();
  });

  it('is rejected when only a client without an engine is installed', async () => {
    const folder = mkdtempSync(join(scratch, 'bin-'));
    const client = '#!/bin/sh\necho "Cannot connect to the Docker daemon" >&2\nexit $CODE\n';
    for (const code of ['0', '1']) {
      writeFileSync(join(folder, 'docker'), client.replace('$CODE', code), { mode: 0o755 });
      const bare = openFixture({ hostEnv: { PATH: folder } });
      await expect(bare.launcher.prepare({ image: 'alpine' }, 'demo')).rejects.toMatchObject({
        reason: 'NoContainerEngine',
      });
      await bare.close();
    }
  });
});

describe('the client of a container engine', () => {
  const STEERING = {
    LD_PRELOAD: '/of-the-image.so',
    CONTAINERS_CONF_OVERRIDE: '/of-the-image.conf',
    DOCKER_HOST: 'tcp://canary-host',
    PATH: '/of-the-image/bin',
    HOME: '/of-the-image',
  };

  /** Installs a `docker` that records its environment, arguments and env file, and echoes stdin. */
  function recordingClient() {
    const folder = mkdtempSync(join(scratch, 'bin-'));
    const client = `#!/bin/sh
      case $1 in
        info) echo 1.0 ;;
        run) env >'${folder}/env'; printf '%s\\n' "$@" >'${folder}/argv'; cp "$5" '${folder}/file'
             stat -c %a "$5" >'${folder}/mode'; echo ready; cat ;;
      esac\n`;
    writeFileSync(join(folder, 'docker'), client, { mode: 0o755 });
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    return { folder, read };
  }
  const envFiles = (one: Fixture) => readdirSync(join(one.stateDir, 'env-files'));

  it.runIf(process.platform === 'linux')('gets none of the environment that the manifest declares', async () => {
    const { folder, read } = recordingClient();
    const own = openFixture({
      hostEnv: { ...process.env, PATH: `${folder}:/usr/bin:/bin`, HOME: '/home/of-the-user' },
    });
    const token = join(own.stateDir, 'token');
    writeFileSync(token, 'canary-secret\n');
    const spec = { image: 'alpine', args: ['--flag'], env_vars: STEERING, env_var_files: { TOKEN: token } };
    const child = own.launcher.spawn(await own.launcher.prepare(spec, 'demo'), { name: 'demo', stdin: true });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const [environ, argv] = [read('env'), read('argv')];
    expect(environ).not.toMatch(/of-the-image|canary-|LD_PRELOAD|CONTAINERS_CONF_OVERRIDE|DOCKER_HOST|TOKEN/);
    expect(environ).toContain('HOME=/home/of-the-user');
    expect(argv).not.toMatch(/of-the-image|canary-/);
    expect(argv.trim().split('\n').slice(-3)).toEqual(['--', 'alpine', '--flag']);
    const declared = Object.entries({ MCP_TRANSPORT: 'stdio', ...STEERING, TOKEN: 'canary-secret' });
    expect(read('file')).toBe(declared.map(([name, value]) => `${name}=${value}\n`).join(''));
    expect(read('mode').trim()).toBe('600');
    expect(statSync(join(own.stateDir, 'env-files')).mode & 0o777).toBe(0o700);
    child.stdin?.end();
    await child.exited;
    expect(envFiles(own)).toEqual([]);
    await own.close();
  });

  it.each([
    ['a value with a line break', { KEY: 'canary-1\ncanary-2' }, /^environment variable KEY contains a line break/],
    ['a value with a carriage return', { KEY: 'canary-1\r' }, /^environment variable KEY contains a line break/],
    ['a name that reads as a comment', { '#KEY': 'canary-1' }, /^"#KEY" cannot name an environment variable/],
    ['a name with a line break in it', { 'A=1\nB': 'canary-1' }, /cannot name an environment variable/],
    [
      'a value longer than a line may be',
      { KEY: 'x'.repeat(65_536) },
      /^environment variable KEY is longer than 64 KiB/,
    ],
  ])('is not started with %s', async (_, env_vars, message) => {
    const { folder } = recordingClient();
    const own = openFixture({ hostEnv: { PATH: `${folder}:/usr/bin:/bin` } });
    const command = await own.launcher.prepare({ image: 'alpine', env_vars }, 'demo');
    const spawn = () => own.launcher.spawn(command, { name: 'demo', stdin: true });
    expect(spawn).toThrow(expect.objectContaining({ reason: 'EnvironmentUnsupported' }));
    expect(spawn).toThrow(message);
    expect(spawn).not.toThrow(/canary/);
    await own.close();
  });
});

describe.runIf(engine)(`an image under ${engine ?? 'an engine'}`, () => {
  const names = (): string[] =>
    execFileSync(engine ?? '', ['ps', '-a', '--format', '{{.Names}}', '--filter', 'label=dev.vmcp.workload'], {
      encoding: 'utf8',
    })
      .split('\n')
      .filter((name) => name !== '');

  it('communicates over stdin and stdout with only its declared environment, none of it on the command line', async () => {
    const secret = join(fixture.stateDir, 'token');
    writeFileSync(secret, 'canary-secret');
    const odd = { LD_PRELOAD: '/none.so', QUOTED: ` 'a' "b" # $HOME `, EMPTY: '', LONG: 'x'.repeat(65_000) };
    const env_vars = { MODE: 'canary-mode', PATH: '/of-the-image', ...odd };
    const process = { image: IMAGE, args: ['x'], env_vars, env_var_files: { TOKEN: secret } };
    const command = await fixture.launcher.prepare(process, 'demo');
    const child = fixture.launcher.spawn(command, { name: 'demo', stdin: true });
    const record = readFileSync(join(fixture.stateDir, 'processes', `${child.pid}.json`), 'utf8');
    child.stdin?.end('ping\n');
    const [first = '', second] = (await text(child.stdout)).split('\n');
    expect(JSON.parse(first)).toMatchObject({ MODE: 'canary-mode', TOKEN: 'canary-secret', MCP_TRANSPORT: 'stdio' });
    expect(JSON.parse(first)).toMatchObject({ ...odd, PATH: '/of-the-image' });
    expect(second).toBe('ping');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(first + record + command.args.join(' ')).not.toContain('canary-77aa');
    expect(record + command.args.join(' ')).not.toMatch(/canary-(mode|secret)/);
    expect(readdirSync(join(fixture.stateDir, 'env-files'))).toEqual([]);
  });

  it('sees nothing of the paths that an ignore file hides, and cannot change that', async () => {
    const folder = mkdtempSync(join(scratch, 'data-'));
    mkdirSync(join(folder, 'secrets'));
    for (const [name, content] of Object.entries({
      '.vmcpignore': 'secrets/\n.env\n',
      '.env': 'K',
      'secrets/k': 'S',
      'a.txt': 'A',
    }))
      writeFileSync(join(folder, name), content);
    const spec = {
      image: IMAGE,
      env_vars: { LIST: '1' },
      container: { network: 'none', volumes: [`${folder}:/data`] },
    };
    const child = fixture.launcher.spawn(await fixture.launcher.prepare(spec, 'demo'), { name: 'demo', stdin: true });
    child.stdin?.end();
    const lines = (await text(child.stdout)).split('\n');
    expect(JSON.parse(lines[0] ?? '')).toEqual(['/data/.env=', '/data/.vmcpignore=', '/data/a.txt=A']);
    expect(lines.slice(1, 3)).toEqual(['refused', 'refused']);
  });

  it('is reachable over HTTP on a loopback port and removed after stop', async () => {
    const { log } = recordingLog();
    const port = await openPortBook(join(fixture.stateDir, 'ports.json')).portFor('demo');
    const process = { image: IMAGE, target_port: 9000 };
    const options = {
      launcher: fixture.launcher,
      process,
      name: 'web',
      port,
      transport: 'streamable-http',
      log,
    } as const;
    const workload = supervise({ ...options, now: () => performance.now() });
    let body: Record<string, string> | undefined;
    await until(() => workload.state().status === 'running', 30_000);
    for (let tries = 0; body === undefined && tries < 100; tries += 1) {
      body = await fetch(`http://127.0.0.1:${port}/`).then(
        (r) => r.json() as Promise<Record<string, string>>,
        () => undefined,
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(body).toMatchObject({ PORT: '9000', HOST: '0.0.0.0' });
    expect(names().filter((name) => name.startsWith('vmcp-web-'))).toHaveLength(1);
    await workload.stop();
    expect(names().filter((name) => name.startsWith('vmcp-web-'))).toEqual([]);
  });

  it('that outlived vmcp and its own client is removed at the next start', async () => {
    const command = await fixture.launcher.prepare({ image: IMAGE }, 'left');
    const child = fixture.launcher.spawn(command, { name: 'left', stdin: true });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const file = join(fixture.stateDir, 'processes', `${child.pid}.json`);
    const record = JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord;
    const later = mkdtempSync(join(scratch, 'state-'));
    mkdirSync(join(later, 'processes'));
    const orphan = { ...record, startTime: 'of a client that is gone', owner: { pid: 4_194_303, startTime: 'gone' } };
    writeFileSync(join(later, 'processes', `${child.pid}.json`), JSON.stringify(orphan));

    expect(names()).toContain(record.container?.name);
    await reapOrphans({ stateDir: later, hostEnv, graceMs: 100 });
    expect(names()).not.toContain(record.container?.name);
    await child.stop();
  });

  it('that cannot be pulled is rejected by name', async () => {
    const prepared = fixture.launcher.prepare({ image: '127.0.0.1:9/none/such:1' }, 'demo');
    await expect(prepared).rejects.toMatchObject({
      reason: 'ImagePullFailed',
      message: expect.stringContaining('127.0.0.1:9/none/such:1') as unknown,
    });
  });
});
