import { lookup } from 'node:dns';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { blockScope, testScope } from '../../../../e2e/harness/scope.ts';
import { createOutbound } from '../../../outbound/fetch.ts';
import type { OutboundPolicy } from '../../../outbound/policy.ts';
import { createAuthority } from '../../../outbound/testdata/authority.ts';
import { forwardProxy, withProxies } from '../../../outbound/testdata/forward-proxy.ts';
import { serveTlsInFront } from '../../../outbound/testdata/servers.ts';
import { parseGitReference } from '../reference/git-reference.ts';
import { startEndlessGitServer } from '../testdata/endless-git-server.ts';
import { startGitServer, type GitServer } from '../testdata/git-server.ts';
import { downloadFromGit } from './download-git.ts';
import type { Download, DownloadDeps } from './download.ts';

const POLICY: OutboundPolicy = { allowPrivate: true, allowLoopback: true, allowHttp: false };
const FILES = {
  'SKILL.md': '# top',
  'skills/pdf/SKILL.md': '# pdf',
  'skills/pdf/scripts/fill.py': 'fill',
};

const scope = blockScope();
let server: GitServer;
let first: string;
let second: string;

beforeAll(async () => {
  server = await startGitServer(scope);
  first = server.commit('team/skills', FILES, 'v1.0');
  second = server.commit('team/skills', { 'skills/pdf/SKILL.md': '# pdf 2' });
  server.commit('team/linked', { 'pdf/SKILL.md': '-> ../SKILL.md' });
});

async function download(
  path: string,
  {
    host = server.host,
    isNamedByUser = true,
    ...more
  }: Partial<DownloadDeps> & { host?: string; isNamedByUser?: boolean } = {},
): Promise<Download & { readonly folder: string }> {
  const test = testScope();
  const root = mkdtempSync(join(tmpdir(), 'vmcp-download-'));
  test.defer(() => rmSync(root, { recursive: true, force: true }));
  const policy = more.policy ?? POLICY;
  const outbound = createOutbound({ policy });
  test.defer(() => outbound.close());
  const folder = join(root, 'skill');
  mkdirSync(folder);
  const deps: DownloadDeps = { outbound, policy, lookup, env: { PATH: process.env['PATH'] }, home: root, ...more };
  const reference = parseGitReference(`git://${host}/${path}`);
  if (!reference) throw new Error(`${path} is not a reference`);
  const { signal } = new AbortController();
  try {
    const result = await downloadFromGit(reference, { folder, isNamedByUser, signal }, deps);
    return { ...result, folder };
  } finally {
    expect(readdirSync(root)).toEqual(['skill']);
  }
}

const read = (folder: string, path: string): string => readFileSync(join(folder, path), 'utf8');

describe('downloadFromGit', () => {
  it('unpacks the folder of the default branch', async () => {
    const { folder, ...result } = await download('team/skills#skills/pdf');
    const reference = `git://${server.host}/team/skills@${second}#skills/pdf`;
    expect(result).toEqual({ digest: second, reference });
    expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual(['SKILL.md', 'scripts', 'scripts/fill.py']);
    expect(read(folder, 'SKILL.md')).toBe('# pdf 2');
    expect(statSync(join(folder, 'scripts/fill.py')).mode & 0o777).toBe(0o644);
  });

  it.each([
    ['a tag', () => 'v1.0', () => first],
    ['a commit', () => first, () => first],
  ])('unpacks %s', async (_, ref, digest) => {
    const result = await download(`team/skills@${ref()}#skills/pdf`);
    expect(result).toMatchObject({ digest: digest(), tag: ref() });
    expect(read(result.folder, 'SKILL.md')).toBe(digest() === first ? '# pdf' : '# pdf 2');
  });

  it('unpacks every file, also those that the repository leaves out of its own archives', async () => {
    server.commit('team/whole', {
      '.gitattributes': 'tests export-ignore\n',
      'tests/case.md': 'case',
      'SKILL.md': '# whole',
    });
    const { folder, leftOut } = await download('team/whole');
    expect(readdirSync(folder).toSorted()).toEqual(['SKILL.md', 'tests']);
    expect(leftOut).toEqual(['.gitattributes']); // row 105: hidden names have their own rule
  });

  it.each(['team/none', 'team/skills@none', `team/skills@${'0'.repeat(40)}`, 'team/skills#none'])(
    'reports that %s does not exist',
    async (path) => {
      await expect(download(path)).rejects.toMatchObject({ code: 'skill_not_found' });
    },
  );

  it('rejects symbolic links in the folder', async () => {
    const unusable = { code: 'unusable_skill', detail: expect.stringContaining('"SKILL.md" is a link') as unknown };
    await expect(download('team/linked#pdf')).rejects.toMatchObject(unusable);
  });

  it('refuses loopback unless the policy allows it', async () => {
    const policy = { ...POLICY, allowLoopback: false };
    await expect(download('team/skills', { policy })).rejects.toMatchObject({ code: 'invalid_skill_request' });
  });

  // Only Linux has the address. Without the setting git would resolve the name to 127.0.0.1.
  it.runIf(process.platform === 'linux')('makes git connect to the address that was checked', async () => {
    const other = await startGitServer(testScope(), '127.0.0.2');
    const digest = other.commit('team/skills', FILES);
    const asked: string[] = [];
    const resolve: DownloadDeps['lookup'] = (name, _options, callback) => {
      asked.push(name);
      callback(null, [{ address: '127.0.0.2', family: 4 }]);
    };
    const outbound = createOutbound({ policy: POLICY, lookup: resolve });
    testScope().defer(() => outbound.close());
    const host = other.host.replace('127.0.0.2', 'git.localhost');
    const result = await download('team/skills', { host, lookup: resolve, outbound });
    expect([result.digest, asked]).toEqual([digest, ['git.localhost', 'git.localhost']]);
  });

  it('goes through a proxy, and trusts the CAs of this process', async () => {
    const authority = createAuthority('corporation');
    const roots = getCACertificates('default');
    testScope().defer(() => {
      setDefaultCACertificates(roots);
    });
    setDefaultCACertificates([...roots, authority.cert]);
    const proxy = await forwardProxy({ authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}` });
    withProxies({ HTTPS_PROXY: `http://user:p%40ss@127.0.0.1:${String(proxy.port)}` });
    const port = await serveTlsInFront(Number(server.host.split(':')[1]), authority.sign('DNS:git.test'));
    const env = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: 'set' };
    const result = await download('team/skills#skills/pdf', { host: `git.test:${String(port)}`, env });
    expect(result.digest).toBe(second);
    const programs = proxy.heads.map((head) => head['user-agent']?.split('/')[0]);
    expect(new Set(programs)).toEqual(new Set([undefined, 'git']));
    expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT git.test:${String(port)}`]));
  });

  it('follows a redirect on the same host only', async () => {
    server.redirect('old/skills', 'team/skills');
    expect(await download('old/skills')).toMatchObject({ digest: second });
    server.redirect('away/skills', `http://localhost:${server.host.split(':')[1] ?? ''}/team/skills`);
    await expect(download('away/skills')).rejects.toMatchObject({ code: 'source_failed' });
  });

  it('sends GIT_TOKEN only to a host that the user names', async () => {
    const env = { PATH: process.env['PATH'], GIT_TOKEN: 's3cret', GITHUB_TOKEN: 'other' };
    server.authorizations.length = 0;
    await download('team/skills', { env });
    const expected = `Basic ${Buffer.from('x-access-token:s3cret').toString('base64')}`;
    expect(new Set(server.authorizations)).toEqual(new Set([expected]));
    expect(server.authorizations.length).toBeGreaterThan(1);
    server.authorizations.length = 0;
    await download('team/skills', { env, isNamedByUser: false });
    expect(new Set(server.authorizations)).toEqual(new Set([undefined]));
  });

  it.each([
    [401, 'source_unauthorized'],
    [403, 'source_unauthorized'],
    [429, 'source_throttled'],
    [500, 'source_failed'],
  ])('translates status %i into %s', async (status, code) => {
    const failing = await startGitServer(testScope());
    failing.fail(status);
    await expect(download('team/skills', { host: failing.host })).rejects.toMatchObject({ code });
  });

  it.each(['.git', '.GIT', '.git ', 'git~1', '.g\u200Cit', 'con'])(
    'row 105: refuses a commit with the folder %j',
    async (name) => {
      server.commit('team/armed', { 'SKILL.md': `# ${name}` });
      server.commitRaw('team/armed', name, 'config');
      await expect(download('team/armed')).rejects.toMatchObject({ code: 'unusable_skill' });
    },
  );

  it('row 108: stops a server whose pack does not end, and leaves nothing behind', async () => {
    const maxRepositoryBytes = 8 * 1024 * 1024;
    const endless = await startEndlessGitServer(testScope(), 40 * maxRepositoryBytes);
    await expect(download('team/skills', { host: endless.host, maxRepositoryBytes })).rejects.toMatchObject({
      code: 'unusable_skill',
      detail: expect.stringContaining('is too large: its repository has more than 8 MiB') as unknown,
    });
    expect(endless.sent()).toBeGreaterThan(maxRepositoryBytes);
    expect(endless.sent()).toBeLessThan(4 * maxRepositoryBytes);
  });

  it('reports a missing program', async () => {
    await expect(download('team/skills', { env: { PATH: '/nonexistent' } })).rejects.toMatchObject({
      code: 'source_failed',
      detail: expect.stringContaining('install git') as unknown,
    });
  });
});
