import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testScope, type Scope } from '../harness/scope.ts';
import { root, temporaryFolder } from '../harness/vmcp.ts';

const PINNED = `registry.example.com/base@sha256:${'0'.repeat(64)}`;
const CANNOT_BUILD = '[ "$1" = info ]';

interface Surroundings {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Script of podman. */
  readonly podman?: string;
}

/** Runs images.sh with this podman and a docker that does not answer. */
async function makeImages(scope: Scope, { args = [], env: own = {}, podman = CANNOT_BUILD }: Surroundings = {}) {
  const folder = await temporaryFolder(scope);
  const [bin, out] = [join(folder, 'bin'), join(folder, 'out')];
  mkdirSync(bin);
  writeFileSync(join(bin, 'podman'), `#!/bin/sh\n${podman}\n`, { mode: 0o755 });
  writeFileSync(join(bin, 'docker'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}`, OUT: out, ...own };
  const made = spawnSync(join(root, 'e2e/cluster/images.sh'), [...args], { env, encoding: 'utf8' });
  return { ...made, out };
}

describe.runIf(process.platform === 'linux')('make images with an engine that cannot build', () => {
  it('packs the images without it, and prints the commands that push and install them', async () => {
    const { status, stdout, stderr, out } = await makeImages(testScope());
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: 'podman could not build the images: packing them without an engine\n',
    });
    for (const target of ['gateway', 'operator']) {
      const archive = join(out, `${target}.tar`);
      const manifest = execFileSync('tar', ['-xOf', archive, 'manifest.json'], { encoding: 'utf8' });
      const [image] = JSON.parse(manifest) as { Config: string; RepoTags: string[]; Layers: string[] }[];
      expect(image?.RepoTags).toEqual([expect.stringMatching(`^localhost/vmcp-${target}:`)]);
      const held = execFileSync('tar', ['-tf', archive], { encoding: 'utf8' }).split('\n');
      expect(held).toEqual(expect.arrayContaining([image?.Config, ...(image?.Layers ?? [])]));
      const name = image?.RepoTags[0]?.replace('localhost/', '') ?? '';
      expect(stdout.split('\n').map((line) => line.trim())).toEqual(
        expect.arrayContaining([
          `skopeo copy oci-archive:${archive} docker://REGISTRY/${name}`,
          `crane push ${archive} REGISTRY/${name}`,
          `podman load -i ${archive} && podman push localhost/${name} REGISTRY/${name}`,
          `kind load image-archive ${archive}`,
        ]),
      );
      expect(stdout).toMatch(new RegExp(`--set operator\\.(gatewayImage|image)=REGISTRY/${name}`, 'u'));
    }
    expect(stdout).toContain('The image for vmcp up in a container needs an engine: make images ENGINE=docker');
  });

  it('does not pack them without the base image that the environment names', async () => {
    const { status, stderr } = await makeImages(testScope(), { env: { BASE_IMAGE: PINNED } });
    expect(status).toBe(1);
    expect(stderr).toContain('unset BASE_IMAGE, or use ENGINE=docker or ENGINE=podman\n');
  });

  it('fails when that engine was chosen explicitly', async () => {
    const { status, stderr } = await makeImages(testScope(), { args: ['podman'] });
    expect(status).toBe(1);
    expect(stderr).toBe('podman could not build the images; without an engine: make images ENGINE=none\n');
  });
});

it('builds every image from the base image that the environment names', async () => {
  // `podman save --format oci-archive -o FILE IMAGE`
  const podman = 'case $1 in build) echo "built: $*" ;; save) : >"$5" ;; esac';
  const env = { BASE_IMAGE: PINNED };
  const { status, stdout, stderr } = await makeImages(testScope(), { args: ['podman'], env, podman });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const builds = stdout.split('\n').filter((line) => line.startsWith('built: '));
  expect(builds).toHaveLength(3);
  for (const build of builds) expect(build).toContain(`build --build-arg BASE_IMAGE=${PINNED} --target`);
});

it('has one argument in the Dockerfile for each base image', async () => {
  const lines = (await readFile(join(root, 'Dockerfile'), 'utf8')).split('\n');
  const stages = lines.flatMap((line) => /^FROM \S+ AS (\S+)/u.exec(line)?.[1] ?? []);
  const bases = lines.flatMap((line) => /^(?:FROM |COPY --from=)(\S+)/u.exec(line)?.[1] ?? []);
  const others = new Set(bases.filter((base) => !stages.includes(base)));
  const used = [...others].map((base) => /^\$\{([A-Z]+_IMAGE)\}$/u.exec(base)?.[1] ?? base);
  const declared = lines.flatMap((line) => /^ARG ([A-Z]+_IMAGE)=\S+:\S+$/u.exec(line)?.[1] ?? []);
  expect(used.toSorted()).toEqual(declared.toSorted());
  expect(declared).toHaveLength(3);
});
