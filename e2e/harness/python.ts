import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { eventually } from './poll.ts';
import type { Scope } from './scope.ts';
import { root } from './vmcp.ts';

const here = dirname(fileURLToPath(import.meta.url));
const venv = join(root, '.cache', 'python');
const marker = join(venv, '.ready');
const lock = join(root, '.cache', 'python.lock');
const requirements = join(here, 'requirements.txt');
const run = promisify(execFile);

export const pythonServer = join(here, 'backends', 'server.py');

const isReady = () => existsSync(marker) && statSync(marker).mtimeMs >= statSync(requirements).mtimeMs;

/**
 * The interpreter of `.cache/python`, where the `mcp` package of requirements.txt is installed. `make test` makes the
 * folder; without it the first caller does, and others wait for it.
 */
export async function python(): Promise<string> {
  if (!isReady())
    await eventually('the Python packages are installed', install, { timeoutMs: 300_000, intervalMs: 500 });
  return join(venv, 'bin', 'python');
}

/** False while another process installs. */
async function install(): Promise<boolean> {
  if (isReady()) return true;
  mkdirSync(dirname(lock), { recursive: true });
  try {
    closeSync(openSync(lock, 'wx'));
  } catch {
    return false;
  }
  try {
    await run('python3', ['-m', 'venv', venv]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    await run(join(venv, 'bin', 'python'), pip);
    writeFileSync(marker, '');
    return true;
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Serves the Python fixture over streamable HTTP until the scope ends; resolves to its URL. */
export async function startPythonBackend(scope: Scope, name: string): Promise<string> {
  const port = await freePort();
  const child = spawn(await python(), [pythonServer, name, String(port)], { stdio: 'ignore' });
  scope.defer(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}/mcp`;
  await eventually('the Python server listens', async () => (await fetch(url)).status > 0, { timeoutMs: 60_000 });
  return url;
}
