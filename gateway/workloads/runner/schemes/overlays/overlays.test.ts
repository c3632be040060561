import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ContainerOptions } from '../../../../contract/container.ts';
import type { Tools } from '../scheme.ts';
import { withOverlays } from './overlays.ts';

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'vmcp-overlays-')));
  for (const name of ['state', 'home', 'project']) mkdirSync(join(dir, name));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function write(path: string, content = ''): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
}

/** Returns the hidden paths, those of folders with a "/" at the end, and what was logged. */
async function hide(container: ContainerOptions) {
  const logged: object[] = [];
  const log = { info: (_message: string, fields: object) => logged.push(fields), warn: () => undefined };
  const hostEnv = { HOME: join(dir, 'home') };
  const tools = { stateDir: join(dir, 'state'), hostEnv, log } as unknown as Tools;
  const given = container.volumes ?? [];
  const result = await withOverlays({ image: 'a', container }, 'it', tools);
  const volumes = result.container?.volumes ?? [];
  expect(volumes.slice(0, given.length)).toEqual(given);
  const hidden = volumes.slice(given.length).map((volume) => {
    const [host = '', path = '', mode] = volume.split(':');
    expect(mode).toBe('ro');
    return `${path}${host.endsWith('folder') ? '/' : ''}`;
  });
  return { hidden: hidden.toSorted(), logged };
}

const mounted = (...names: string[]): string[] => names.map((name) => `${join(dir, name)}:/${name}`);

describe('an ignore file of a mount', () => {
  it('hides files and folders, and itself, below an empty read-only place', async () => {
    write('project/.vmcpignore', '.env\nsecrets/\n*.pem\n!public.pem\n');
    for (const path of ['.env', 'a/.env', 'a/public.pem', 'a/own.pem', 'secrets/key', 'src/secrets/.env', 'b.txt'])
      write(`project/${path}`, 'x');
    const { hidden, logged } = await hide({ volumes: mounted('project') });
    expect(hidden).toEqual([
      '/project/.env',
      '/project/.vmcpignore',
      '/project/a/.env',
      '/project/a/own.pem',
      '/project/secrets/',
      '/project/src/secrets/',
    ]);
    expect(logged).toEqual([]);
    expect(readFileSync(join(dir, 'state/overlays/file'), 'utf8')).toBe('');
  });

  it('hides what a link points at in the mount, and once', async () => {
    write('project/.vmcpignore', 'link*\nsecrets\n');
    write('project/secrets/key');
    write('project/real');
    for (const [target, name] of [
      ['real', 'link'],
      ['secrets/key', 'link-in-hidden'],
      ['/etc/passwd', 'link-outside'],
      ['missing', 'link-to-nothing'],
    ] as const)
      symlinkSync(target, join(dir, 'project', name));
    expect((await hide({ volumes: mounted('project') })).hidden).toEqual([
      '/project/.vmcpignore',
      '/project/real',
      '/project/secrets/',
    ]);
  });

  it('adds nothing without rules, for a file, and for mounts without ignore files', async () => {
    write('project/b.txt');
    write('file');
    const container = { volumes: mounted('project', 'file'), ignore: { load_global: true, print_overlays: true } };
    expect(await hide(container)).toEqual({ hidden: [], logged: [{ workload: 'it', count: 0, paths: [] }] });
    expect(existsSync(join(dir, 'state/overlays'))).toBe(false);
  });

  it('does not hide a mount of its own, and refuses one in a hidden folder', async () => {
    write('project/.vmcpignore', 'data\n');
    write('project/data/x/y');
    const [project = '', data = ''] = mounted('project', 'project/data');
    expect((await hide({ volumes: [project, data] })).hidden).toEqual(['/project/.vmcpignore']);
    const [inner = ''] = mounted('project/data/x');
    await expect(hide({ volumes: [project, inner] })).rejects.toMatchObject({
      reason: 'MountRefused',
      message: expect.stringContaining('"/project/data/x" lies in a folder that an ignore file hides') as unknown,
    });
  });
});

it('the ignore file of the user hides paths in every mount, and the log names them', async () => {
  write('home/.config/vmcp/ignore', '*.key\n');
  write('project/a.key');
  write('other/b.key');
  write('other/.vmcpignore', '!b.key\n');
  const ignore = { load_global: true, print_overlays: true };
  const volumes = mounted('project', 'other');
  expect((await hide({ volumes })).hidden).toEqual(['/other/.vmcpignore']);
  expect(await hide({ volumes, ignore })).toEqual({
    hidden: ['/other/.vmcpignore', '/project/a.key'],
    logged: [{ workload: 'it', count: 2, paths: ['/project/a.key', '/other/.vmcpignore'] }],
  });
});

describe('a container does not start', () => {
  it.each<[string, () => void, string]>([
    [
      'an ignore file that is a link',
      () => {
        symlinkSync('/etc/passwd', join(dir, 'project/.vmcpignore'));
      },
      'must be a plain UTF-8 file',
    ],
    [
      'an ignore file that is a folder',
      () => {
        mkdirSync(join(dir, 'project/.vmcpignore'));
      },
      'must be a plain UTF-8 file',
    ],
    [
      'an ignore file with too many lines',
      () => {
        write('project/.vmcpignore', 'a\n'.repeat(501));
      },
      'at most 500 lines',
    ],
    [
      'an ignore file that is no text',
      () => {
        writeFileSync(join(dir, 'project/.vmcpignore'), Buffer.of(0xff));
      },
      'must be a plain UTF-8 file',
    ],
    [
      'a hidden path with a colon',
      () => {
        write('project/.vmcpignore', 'a*\n');
        write('project/a:b');
      },
      'has a ":"',
    ],
    [
      'a hidden path that is no UTF-8',
      () => {
        write('project/.vmcpignore', '*.x\n');
        writeFileSync(Buffer.concat([Buffer.from(join(dir, 'project/')), Buffer.of(0xff, 0x2e, 0x78)]), '');
      },
      'no UTF-8 name',
    ],
    [
      'too many hidden paths',
      () => {
        write('project/.vmcpignore', '*.x\n');
        for (let n = 0; n < 500; n += 1) write(`project/${n}.x`);
      },
      'hide more than 500 paths',
    ],
  ])('with %s', async (_title, prepare, message) => {
    prepare();
    await expect(hide({ volumes: mounted('project') })).rejects.toMatchObject({
      reason: 'MountRefused',
      message: expect.stringContaining(message) as unknown,
    });
  });

  it('with a folder that vmcp cannot read, such as one whose name is no UTF-8', async () => {
    write('project/.vmcpignore', '*.x\n');
    mkdirSync(Buffer.concat([Buffer.from(join(dir, 'project/')), Buffer.of(0xff)]));
    await expect(hide({ volumes: mounted('project') })).rejects.toMatchObject({ reason: 'MountRefused' });
  });
});
