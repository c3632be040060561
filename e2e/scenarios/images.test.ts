import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testScope, type Scope } from '../harness/scope.ts';
import { root, temporaryFolder } from '../harness/vmcp.ts';

/** Runs images.sh with a podman that cannot build and a docker that does not answer. */
async function makeImages(scope: Scope, ...args: string[]) {
  const folder = await temporaryFolder(scope);
  const [bin, out] = [join(folder, 'bin'), join(folder, 'out')];
  mkdirSync(bin);
  writeFileSync(join(bin, 'podman'), '#!/bin/sh\n[ "$1" = info ]\n', { mode: 0o755 });
  writeFileSync(join(bin, 'docker'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}`, OUT: out };
  const made = spawnSync(join(root, 'e2e/cluster/images.sh'), args, { env, encoding: 'utf8' });
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

  it('fails when that engine was chosen explicitly', async () => {
    const { status, stderr } = await makeImages(testScope(), 'podman');
    expect(status).toBe(1);
    expect(stderr).toBe('podman could not build the images; without an engine: make images ENGINE=none\n');
  });
});
