import { execFile, spawn, spawnSync } from 'node:child_process';
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
const INSTALL_MS = 240_000;

export const pythonServer = join(here, 'backends', 'server.py');

const isReady = () => existsSync(marker) && statSync(marker).mtimeMs >= statSync(requirements).mtimeMs;

/** False on a machine whose Python cannot make a virtual environment; `make python` says so (`not applicable`). */
export const hasPython = isReady() || spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0;

/**
 * The interpreter of `.cache/python`, where the `mcp` package of requirements.txt is installed. `make test` makes the
 * folder; without it the first caller does, and others wait for it.
 */
export async function python(): Promise<string> {
  if (!isReady()) await install();
  return join(venv, 'bin', 'python');
}

async function install(): Promise<void> {
  const isMine = await eventually('the Python packages are installed', () => (isReady() ? 'done' : tryLock()), {
    timeoutMs: 2 * INSTALL_MS,
    intervalMs: 500,
  });
  if (isMine === 'done') return;
  try {
    await run('python3', ['-m', 'venv', venv]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    await run(join(venv, 'bin', 'python'), pip, { timeout: INSTALL_MS });
    writeFileSync(marker, '');
  } finally {
    rmSync(lock, { force: true });
  }
}

/** False while another process installs. A lock that is older than an install can be was left by a killed one. */
function tryLock(): 'mine' | false {
  mkdirSync(dirname(lock), { recursive: true });
  if (existsSync(lock) && Date.now() - statSync(lock).mtimeMs > INSTALL_MS) rmSync(lock, { force: true });
  try {
    closeSync(openSync(lock, 'wx'));
    return 'mine';
  } catch {
    return false;
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
