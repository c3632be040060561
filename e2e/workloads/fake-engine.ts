import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { SCRIPTED_SOURCE } from './scripted-server.ts';

/** Client of an engine whose containers are processes. While the file `down` exists, its engine does not respond. */
const CLIENT = `
const { existsSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { spawn } = require('node:child_process');
const at = (name) => require('node:path').join(__dirname, 'engine', name);
const [command, ...args] = process.argv.slice(2);
const fail = () => {
  console.error('docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?');
  if (command === 'run') console.error("\\nRun 'docker run --help' for more information");
  process.exit(command === 'run' ? 125 : 1);
};
const check = () => existsSync(at('down')) && fail();
check();
const valueOf = (flag) => args[args.indexOf(flag) + 1];
const commands = {
  info: () => console.log('27.0.0'),
  image: () => process.exit(existsSync(at('image')) ? 0 : 1),
  pull: () => {
    writeFileSync(at('pulling'), '');
    setInterval(() => {
      check();
      if (existsSync(at('held'))) return;
      writeFileSync(at('image'), '');
      process.exit(0);
    }, 20);
  },
  rm: () => {
    const name = args.at(-1);
    if (existsSync(at('containers/' + name))) return rmSync(at('containers/' + name));
    console.error('Error response from daemon: No such container: ' + name);
    process.exit(1);
  },
  run: () => {
    setInterval(check, 20).unref();
    const name = valueOf('--name');
    writeFileSync(at('containers/' + name), '');
    const lines = readFileSync(valueOf('--env-file'), 'utf8').split('\\n').filter(Boolean);
    const env = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
    const [, port] = args.includes('-p') ? valueOf('-p').split(':') : [];
    const words = args.slice(args.indexOf('--') + 2);
    const options = { stdio: 'inherit', env: { ...env, ...(port && { PORT: port }) } };
    const server = spawn(process.execPath, [at('server.js'), ...words], options);
    process.on('SIGTERM', () => server.kill());
    server.on('exit', (code, signal) => {
      if (existsSync(at('down'))) fail();
      rmSync(at('containers/' + name), { force: true });
      process.exit(signal ? 137 : code);
    });
  },
};
commands[command]();
`;

/** Installs a container engine that can stop and start. `env` makes vmcp use it; its only image is the scripted server. */
export async function installFakeEngine(scope: Scope) {
  const dir = await temporaryFolder(scope);
  const at = (name: string): string => join(dir, 'engine', name);
  await mkdir(at('containers'), { recursive: true });
  await writeFile(at('server.js'), SCRIPTED_SOURCE);
  for (const name of ['docker', 'podman']) {
    const program = join(dir, name); // both names, so that no real engine takes the place of this one
    await writeFile(program, `#!${process.execPath}\n${CLIENT}`);
    await chmod(program, 0o755);
  }
  const put = (name: string) => writeFile(at(name), '');
  return {
    env: { PATH: `${dir}:${process.env['PATH'] ?? ''}` },
    containers: () => readdir(at('containers')),
    /** Makes pulls last until the engine stops. */
    holdPulls: () => put('held'),
    isPulling: async () => (await readdir(at('.'))).includes('pulling'),
    stop: () => put('down'),
    start: async () => {
      await rm(at('down'), { force: true });
      await rm(at('held'), { force: true });
    },
  };
}
