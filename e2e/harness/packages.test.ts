import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { sdkV1 } from './clients/sdk-v1.ts';
import { npmRegistry, PYTHON_PACKAGE, pythonIndex } from './packages.ts';
import { hasPython } from './python.ts';
import { testScope } from './scope.ts';
import { expectTour, tourSteps } from './tour.ts';
import { temporaryFolder } from './vmcp.ts';

const run = promisify(execFile);
const tour = { fixture: 'alpha', prefix: '' };

it('npm installs a fixture package from the loopback registry, and its command is an MCP server', async () => {
  const [env, cwd] = [await npmRegistry(testScope()), await temporaryFolder(testScope())];
  await run('npm', ['install', '--no-audit', '--no-fund', 'vmcp-fixture@1.0.0'], {
    cwd,
    env: { ...process.env, ...env },
  });
  const bin = join(cwd, 'node_modules', 'vmcp-fixture', 'bin.mjs');
  const transcript = await sdkV1(
    { transport: 'stdio', command: process.execPath, args: [bin, 'alpha'] },
    tourSteps(tour),
  );
  expectTour(transcript, tour);
});

it('the loopback registry has no other package', async () => {
  const [env, cwd] = [await npmRegistry(testScope()), await temporaryFolder(testScope())];
  const install = run('npm', ['install', 'left-pad'], {
    cwd,
    // `npm run --silent` sets this for its child processes
    env: { ...process.env, ...env, npm_config_loglevel: 'error' },
  });
  await expect(install).rejects.toThrow('E404');
});

it.runIf(hasPython)('uv installs the Python fixture package, and its script is an MCP server', async () => {
  const [env, cwd] = [await pythonIndex(testScope()), await temporaryFolder(testScope())];
  const uv = (...args: string[]) => run('uv', args, { cwd, env: { ...process.env, ...env } });
  await uv('venv', 'venv');
  await uv('pip', 'install', '--python', 'venv/bin/python', PYTHON_PACKAGE);
  const command = join(cwd, 'venv', 'bin', PYTHON_PACKAGE);
  expectTour(await sdkV1({ transport: 'stdio', command, args: ['alpha'] }, tourSteps(tour)), tour);
});
