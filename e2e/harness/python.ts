import { execFile, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
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

/** False on a machine whose Python cannot create a virtual environment; `make python` then prints `not applicable`. */
export const hasPython = isReady() || spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0;

/**
 * Returns the interpreter of `.cache/python`, with the packages of requirements.txt. `make test` creates the
 * folder; otherwise the first caller creates it, and other callers wait.
 */
export async function python(): Promise<string> {
  if (!isReady()) await install();
  return join(venv, 'bin', 'python');
}

/** Returns the environment in which `vmcp` finds uv, which installs packages in a tenth of the time of pip. */
export async function withUv(): Promise<Record<string, string>> {
  return { PATH: `${dirname(await python())}:${process.env['PATH'] ?? ''}`, UV_SYSTEM_CERTS: '1' };
}

async function install(): Promise<void> {
  const isMine = await eventually('the Python packages are installed', () => (isReady() ? 'done' : tryLock()), {
    timeoutMs: 2 * INSTALL_MS,
    intervalMs: 500,
  });
  if (isMine === 'done') return;
  try {
    await run('make', ['--silent', 'python'], { cwd: root, timeout: INSTALL_MS });
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Returns false while another process installs. A lock older than any installation belongs to a killed process. */
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
