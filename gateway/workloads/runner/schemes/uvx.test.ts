import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
  ])('%s installs the version asked for once; runs the script named like the package', async (_installer, opened) => {
    const image = 'uvx://Demo_Server==1.0';
    const both = [output(image, ['-x'], opened()), output(image, ['-x'], opened())];
    expect(await Promise.all(both)).toEqual(['demo-server 1.0 -x clean', 'demo-server 1.0 -x clean']);
    expect(opened().logged.filter(({ message }) => message === 'installing package')).toHaveLength(1);
  });

  it('takes the newest when none is named, and a package’s only script whatever its name', async () => {
    expect(await output('uvx://other-name')).toBe('other-name 1.1 clean');
  });

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
    ['ERROR: No matching distribution found for pglast==7.2.0 (from x)', 'InstallFailed', 1],
    ['  cause: Because there is no version of x==9 and you require x==9, we can conclude', 'PackageNotFound', 0],
    [
      '  cause: Because there is no version of pglast==7.2.0 and x>=0.3.0 depends on pglast==7.2.0, we can conclude that x>=0.3.0 cannot be used.',
      'InstallFailed',
      1,
    ],
    ['  cause: Because extra was not found in the package registry and you require extra', 'InstallFailed', 1],
  ])(
    'distinguishes an unreachable index and another missing package from the package: %j is %s',
    async (output, reason, dumps) => {
      const folder = mkdtempSync(join(tmpdir(), 'vmcp-index-'));
      const own = openFixture({ hostEnv: { PATH: `${folder}:/usr/bin:/bin` } });
      writeFileSync(join(folder, 'uv'), `#!/bin/sh\n[ "$1" = venv ] && exit 0\ncat >&2 <<'E'\n${output}\nE\nexit 1\n`);
      chmodSync(join(folder, 'uv'), 0o755);
      await expect(own.launcher.prepare({ image: 'uvx://x' }, 'demo')).rejects.toMatchObject({ reason });
      expect(own.logged.filter(({ message }) => message === 'package not installed')).toHaveLength(dumps);
      await own.close();
      rmSync(folder, { recursive: true });
    },
  );

  /** A uv whose Python is 3.11: the package installs only with another one. */
  const OLD_UV = `#!/bin/sh
echo "$*" >> "$0.log"
env | grep '^UV_PYTHON' >> "$0.log"
if [ "$1" = venv ]; then
  for dir; do :; done
  mkdir -p "$dir/bin" && echo "$3$4" > "$dir/asked"; exit 0
fi
dir=\${5%/bin/python}
grep -q '>=3.12' "$dir/asked" || { echo 'cause: Because new-py==1.0 requires Python >=3.12, <4 and you require new-py' >&2; exit 1; }
mkdir -p "$dir/lib/python3.12/site-packages/new_py-1.0.dist-info"
printf '[console_scripts]\nnew-py = a:b\nother = a:c\n' > "$dir/lib/python3.12/site-packages/new_py-1.0.dist-info/entry_points.txt"
touch "$dir/bin/new-py" "$dir/bin/other"
`;
  /** A Python whose pip refuses a package, with the bytes of pip 26. */
  const OLD_PYTHON = `#!/bin/sh
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit 0; fi
echo "ERROR: Package 'new-py' requires a different Python: 3.11.7 not in '>=3.12'" >&2
exit 1
`;

  async function withPrograms<T>(
    programs: Record<string, string>,
    run: (opened: Fixture, folder: string) => Promise<T>,
  ) {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-programs-'));
    for (const [name, content] of Object.entries(programs)) writeFileSync(join(folder, name), content, { mode: 0o755 });
    for (const name of ['mkdir', 'grep', 'touch', 'cp', 'env', 'true'])
      symlinkSync(`/usr/bin/${name}`, join(folder, name));
    const own = openFixture({ hostEnv: { PATH: folder, UV_PYTHON_DOWNLOADS: 'never' } });
    try {
      return await run(own, folder);
    } finally {
      await own.close();
      rmSync(folder, { recursive: true });
    }
  }

  it('installs a package again with the Python that it requires', async () => {
    await withPrograms({ uv: OLD_UV }, async ({ launcher }, folder) => {
      const { file } = await launcher.prepare({ image: 'uvx://new-py' }, 'demo');
      expect(file).toMatch(/\/new-py\/bin\/new-py$/u);
      const log = readFileSync(join(folder, 'uv.log'), 'utf8');
      expect(log).toMatch(/venv --quiet -- .*\n[^]*venv --quiet --python >=3.12,<4 -- /u);
      expect(log).toContain('UV_PYTHON_DOWNLOADS=never');
    });
  });

  it.each([
    ['package.python', { package: { python: '>=3.12', command: 'other', with: ['extra>=2'] } }],
    ['UV_PYTHON', { env_vars: { UV_PYTHON: '>=3.12' }, package: { command: 'other', with: ['extra>=2'] } }],
  ])('installs with the Python of %s, with other packages, and runs the chosen command', async (_from, settings) => {
    await withPrograms({ uv: OLD_UV }, async ({ launcher }, folder) => {
      const { file } = await launcher.prepare({ image: 'uvx://new-py', ...settings }, 'demo');
      expect(file).toMatch(/\/bin\/other$/u);
      expect(readFileSync(join(folder, 'uv.log'), 'utf8')).toMatch(
        /^venv --quiet --python >=3\.12 [^]* -- new-py extra>=2\n/u,
      );
    });
  });

  it.each([
    [
      'a Python that it excludes',
      { package: { python: '3.11' } },
      { uv: OLD_UV },
      'asks for 3.11: correct or remove it',
    ],
    [
      'no other Python for pip',
      {},
      { python3: OLD_PYTHON },
      'new-py needs Python >=3.12, which this machine does not have',
    ],
    [
      'a Python that does not start',
      {},
      { python3: OLD_PYTHON, 'python3.13': '#!/bin/sh\nexit 127\n' },
      'new-py needs Python >=3.12, which this machine does not have',
    ],
  ])('says which Python a package needs: %s', async (_case, settings, programs, message) => {
    await withPrograms(programs as Record<string, string>, async ({ launcher }) => {
      await expect(launcher.prepare({ image: 'uvx://new-py', ...settings }, 'demo')).rejects.toMatchObject({
        reason: 'PythonNotFound',
        problem: { permanent: false, message: expect.stringContaining(message) as unknown },
      });
    });
  });

  it('installs with pip and another Python of the PATH', async () => {
    const newer = `#!/bin/sh
if [ "$2" = venv ]; then mkdir -p "$3/bin" "$3/lib/python3.13/site-packages" && cp "$0" "$3/bin/python"; exit 0; fi
touch "\${0%python}new-py"
mkdir "\${0%bin/python}lib/python3.13/site-packages/new_py-1.0.dist-info"
printf '[console_scripts]\nnew-py = a:b\n' > "\${0%bin/python}lib/python3.13/site-packages/new_py-1.0.dist-info/entry_points.txt"
`;
    await withPrograms({ python3: OLD_PYTHON, 'python3.13': newer }, async ({ launcher }) => {
      expect((await launcher.prepare({ image: 'uvx://new-py' }, 'demo')).file).toMatch(/\/new-py\/bin\/new-py$/u);
    });
  });

  it('names the commands that a package has instead of the chosen one', async () => {
    const prepared = fixture.launcher.prepare({ image: 'uvx://two-scripts', package: { command: 'c' } }, 'demo');
    const message = 'package two-scripts has no command c, but a, b: set package.command to one of them';
    await expect(prepared).rejects.toMatchObject({ reason: 'PackageHasNoBin', message });
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

  /** The output of uv 0.13.9 on a machine without a network that has no such Python. */
  const NO_DOWNLOAD = `error: Request failed after 3 retries in 11.1s
  cause: Failed to download \`https://github.com/astral-sh/python-build-standalone/releases/download/cpython-3.15.2.tar.gz\`
  cause: error sending request for url (https://github.com/astral-sh/python-build-standalone/releases/download/cpython-3.15.2.tar.gz)
  cause: client error (Connect)
  cause: failed to lookup address information: Name or service not known`;

  it.each([
    ['that a package requires', {}, '>=3.12,<4'],
    ['that the user chose', { package: { python: '3.14' } }, '3.14'],
  ])('names the Python %s and uv cannot download', async (_whose, settings, wanted) => {
    const uv = OLD_UV.replace('exit 0', `[ "$3" = -- ] && exit 0; echo '${NO_DOWNLOAD}' >&2; exit 2`);
    await withPrograms({ uv }, async ({ launcher }) => {
      const cause = `this machine has no Python ${wanted}, and uv cannot download it: failed to lookup address information: Name or service not known`;
      await expect(launcher.prepare({ image: 'uvx://new-py', ...settings }, 'demo')).rejects.toMatchObject({
        reason: 'InstallFailed',
        problem: {
          message: `uv venv new-py failed (${cause}): the start is retried, and the log has the output`,
        },
      });
    });
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
