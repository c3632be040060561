import { lookup } from 'node:dns';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testScope } from '../../../../../e2e/harness/scope.ts';
import { createOutbound } from '../../../../outbound/fetch.ts';
import type { OutboundPolicy } from '../../../../outbound/policy.ts';
import { parseOciReference } from '../../reference/oci-reference.ts';
import { startOciRegistry, type OciRegistry, type PushOptions } from '../../testdata/oci-registry.ts';
import { tar } from '../../testdata/tar.ts';
import { downloadFromOci } from './download-oci.ts';

const POLICY: OutboundPolicy = { allowPrivate: true, allowLoopback: true, allowHttp: false };
const FILES = { 'SKILL.md': '# pdf', 'scripts/fill.py': 'fill' };

async function newRegistry(
  options?: PushOptions,
  files: Record<string, string> | Buffer = FILES,
): Promise<OciRegistry & { readonly digest: string }> {
  const registry = await startOciRegistry(testScope());
  const digest = registry.push('team/pdf', '1', files, options);
  return { ...registry, digest };
}

async function download({ host }: OciRegistry, { version = ':1', password = '', policy = POLICY } = {}) {
  const scope = testScope();
  const home = mkdtempSync(join(tmpdir(), 'vmcp-download-'));
  scope.defer(() => rmSync(home, { recursive: true, force: true }));
  const outbound = createOutbound({ policy });
  scope.defer(() => outbound.close());
  const folder = join(home, 'skill');
  mkdirSync(folder);
  mkdirSync(join(home, '.docker'));
  const auth = Buffer.from(password).toString('base64');
  writeFileSync(join(home, '.docker', 'config.json'), JSON.stringify({ auths: password ? { [host]: { auth } } : {} }));
  const reference = parseOciReference(`${host}/team/pdf${version}`);
  if (!reference) throw new Error('not a reference');
  const deps = { outbound, policy, lookup, env: {}, home };
  const { signal } = new AbortController();
  return { folder, ...(await downloadFromOci(reference, { folder, isNamedByUser: true, signal }, deps)) };
}

describe('downloadFromOci', () => {
  it.each([false, true])('unpacks the layer of an artifact; behind an index: %s', async (asIndex) => {
    const registry = await newRegistry({ asIndex });
    const { folder, ...result } = await download(registry);
    const { host, digest } = registry;
    expect(result).toEqual({ reference: `${host}/team/pdf@${digest}`, tag: '1', digest });
    expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual(['SKILL.md', 'scripts', 'scripts/fill.py']);
    expect(readFileSync(join(folder, 'SKILL.md'), 'utf8')).toBe('# pdf');
    expect(statSync(join(folder, 'scripts/fill.py')).mode & 0o777).toBe(0o644);
    const pinned = await download(registry, { version: `@${digest}` });
    expect(pinned).toMatchObject({ reference: result.reference, digest });
    expect(pinned).not.toHaveProperty('tag');
  });

  it('gets a token where the registry requires one', async () => {
    const registry = await newRegistry();
    registry.protect();
    expect(await download(registry)).toMatchObject({ digest: registry.digest });
  });

  it('uses the password of the container engine for the host', async () => {
    const registry = await newRegistry();
    registry.protect('ann:s3cret');
    expect(await download(registry, { password: 'ann:s3cret' })).toMatchObject({ digest: registry.digest });
    await expect(download(registry, { password: 'ann:wrong' })).rejects.toMatchObject({ code: 'source_unauthorized' });
    await expect(download(registry)).rejects.toMatchObject({ code: 'source_unauthorized' });
  });

  it('reads blobs from another origin without the credential', async () => {
    const registry = await newRegistry();
    registry.protect();
    registry.moveBlobs();
    expect(await download(registry)).toMatchObject({ digest: registry.digest });
  });

  it('rejects content with another digest', async () => {
    const registry = await newRegistry();
    registry.tamper();
    await expect(download(registry, { version: `@${registry.digest}` })).rejects.toMatchObject({
      code: 'source_failed',
      detail: expect.stringContaining('digest') as unknown,
    });
  });

  it.each<[string, PushOptions | undefined, Record<string, string> | Buffer, string]>([
    ['another name in its config', { name: 'other' }, FILES, 'the name "other"'],
    ['an invalid name in its config', { name: '../x' }, FILES, 'no valid name'],
    ['two layers', { layers: 2 }, FILES, 'exactly one layer'],
    ['a link', undefined, tar([{ path: 'a', type: '2' }]), 'is a link'],
    ['a path that leads out', undefined, tar([{ path: '../a' }]), 'is not allowed'],
    [
      'more than 1000 files',
      undefined,
      tar(Array.from({ length: 1001 }, (_, i) => ({ path: String(i) }))),
      '1000 files',
    ],
  ])('rejects an artifact with %s', async (_, options, files, message) => {
    await expect(download(await newRegistry(options, files))).rejects.toMatchObject({
      code: 'unusable_skill',
      detail: expect.stringContaining(message) as unknown,
    });
  });

  it('rejects a file that claims more than 100 MB before it is read', async () => {
    const bomb = tar([{ path: 'a', size: 600 * 1024 * 1024 }]);
    await expect(download(await newRegistry(undefined, bomb))).rejects.toMatchObject({ code: 'unusable_skill' });
  });

  it.each([
    [401, 'source_unauthorized'],
    [404, 'skill_not_found'],
    [429, 'source_throttled'],
    [503, 'source_failed'],
  ])('translates status %i into %s', async (status, code) => {
    const registry = await newRegistry();
    registry.fail(status);
    await expect(download(registry)).rejects.toMatchObject({ code });
  });

  it('refuses loopback unless the policy allows it', async () => {
    const policy = { ...POLICY, allowLoopback: false };
    await expect(download(await newRegistry(), { policy })).rejects.toMatchObject({ code: 'invalid_skill_request' });
  });
});
