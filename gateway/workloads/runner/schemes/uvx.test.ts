import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFixture, type Fixture } from '../testdata/fixture.ts';
import { hasPython, withUv } from '../../../../e2e/harness/python.ts';

let wheels: string;
/** Without uv on the PATH, as far as this machine has none. */
let withPip: Fixture;
let fixture: Fixture;

/** Lets pip and uv find only these wheels, without a network. */
function makeWheel(name: string, version: string, ...scripts: string[]): void {
  execFileSync('python3', [join(import.meta.dirname, '..', 'testdata', 'wheel.py'), wheels, name, version, ...scripts]);
}

beforeAll(async () => {
  wheels = mkdtempSync(join(tmpdir(), 'vmcp-wheels-'));
  makeWheel('demo-server', '1.0', 'demo_server', 'demo-admin');
  makeWheel('other-name', '1.0', 'serve');
  makeWheel('other-name', '1.1', 'serve');
  makeWheel('two-scripts', '1.0', 'a', 'b');
  const index = pathToFileURL(wheels).href; // uv asks it for names that no wheel has
  const offline = { PIP_FIND_LINKS: wheels, PIP_NO_INDEX: '1', UV_FIND_LINKS: wheels, UV_DEFAULT_INDEX: index };
  withPip = openFixture({ hostEnv: { ...process.env, ...offline } });
  fixture = openFixture({ hostEnv: { ...process.env, ...offline, ...(hasPython && (await withUv())) } });
}, 240_000);
afterAll(async () => {
  await Promise.all([withPip.close(), fixture.close()]);
  rmSync(wheels, { recursive: true, force: true });
});

async function output(image: string, args: string[] = [], { launcher } = fixture): Promise<string> {
  const command = await launcher.prepare({ image, args }, 'demo');
  return (await text(launcher.spawn(command, { name: 'demo', stdin: false }).stdout)).trim();
}

describe('uvx://', () => {
  it.each([
    ['pip', () => withPip],
    ['uv', () => fixture],
  ])(
    '%s installs the version asked for once; runs the script named like the package',
    { timeout: 120_000 },
    async (_installer, opened) => {
      const image = 'uvx://Demo_Server==1.0';
      const both = [output(image, ['-x'], opened()), output(image, ['-x'], opened())];
      expect(await Promise.all(both)).toEqual(['demo-server 1.0 -x clean', 'demo-server 1.0 -x clean']);
      expect(opened().logged.filter(({ message }) => message === 'installing package')).toHaveLength(1);
    },
  );

  it(
    'takes the newest when none is named, and a package’s only script whatever its name',
    { timeout: 120_000 },
    async () => {
      expect(await output('uvx://other-name')).toBe('other-name 1.1 clean');
    },
  );

  it.each([
    ['pip', 'uvx://nobody-has-this', 'PackageNotFound', 'nobody-has-this', () => withPip],
    ['uv', 'uvx://nobody-has-this', 'PackageNotFound', 'nobody-has-this', () => fixture],
    ['uv', 'uvx://two-scripts', 'PackageHasNoBin', 'a, b', () => fixture],
  ])('%s and %s: %s', { timeout: 120_000 }, async (_installer, image, reason, part, opened) => {
    await expect(output(image, [], opened())).rejects.toMatchObject({
      reason,
      message: expect.stringContaining(part) as unknown,
    });
  });

  it.each([
    ['ERROR: No matching distribution found for x', 'PackageNotFound', 0],
    [
      "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError'\nERROR: No matching distribution found for x",
      'InstallFailed',
      1,
    ],
  ])('distinguishes an unreachable index from a missing package: %j is %s', async (output, reason, dumps) => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-index-'));
    const own = openFixture({ hostEnv: { PATH: `${folder}:/usr/bin:/bin` } });
    writeFileSync(join(folder, 'uv'), `#!/bin/sh\n[ "$1" = venv ] && exit 0\ncat >&2 <<'E'\n${output}\nE\nexit 1\n`);
    chmodSync(join(folder, 'uv'), 0o755);
    await expect(own.launcher.prepare({ image: 'uvx://x' }, 'demo')).rejects.toMatchObject({ reason });
    expect(own.logged.filter(({ message }) => message === 'package not installed')).toHaveLength(dumps);
    await own.close();
    rmSync(folder, { recursive: true });
  });

  it('names the reason of uv, not the advice that follows it', async () => {
    const uv = { ...(hasPython && (await withUv())), UV_DEFAULT_INDEX: 'http://127.0.0.1:9/', UV_HTTP_RETRIES: '0' };
    const own = openFixture({ hostEnv: { ...process.env, ...uv } });
    await expect(own.launcher.prepare({ image: 'uvx://x' }, 'demo')).rejects.toMatchObject({
      reason: 'InstallFailed',
      message: expect.stringMatching(/\([^()]*connection refused[^()]*(?:\([^()]*\))?\): see the log/iu) as unknown,
    });
    await own.close();
  });

  it('advises what to install without Python or without venv', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-no-python-'));
    const bare = openFixture({ hostEnv: { PATH: folder } });
    const prepare = () => bare.launcher.prepare({ image: 'uvx://demo-server' }, 'demo');
    await expect(prepare()).rejects.toMatchObject({
      reason: 'UvxUnavailable',
      message: expect.stringContaining('PATH') as unknown,
    });
    writeFileSync(join(folder, 'python3'), '#!/bin/sh\necho "ensurepip is not available"\nexit 1\n');
    chmodSync(join(folder, 'python3'), 0o755);
    await expect(prepare()).rejects.toMatchObject({
      reason: 'UvxUnavailable',
      message: expect.stringContaining('venv') as unknown,
    });
    await bare.close();
    rmSync(folder, { recursive: true });
  });
});
