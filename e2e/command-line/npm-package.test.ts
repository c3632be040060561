import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { nodeVersionProblem } from '../../operator/cli/node-version.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { copySources } from '../harness/source-copy.ts';
import { root, startVmcp, temporaryFolder, vmcpResult } from '../harness/vmcp.ts';

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

/** Node.js of the lock file, and that of the machine if it is another one, by version. */
const nodes = new Map([[process.versions.node, process.execPath]]);
for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
  const file = join(folder, 'node');
  if (!folder.includes('node_modules') && existsSync(file))
    nodes.set(execFileSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim(), file);
}
const versions = [...nodes.keys()];

const isBuilt = existsSync(join(root, 'dist', '.built'));
const scope = blockScope();
let source = '';
let prefix = '';
let program = '';

/** Returns a PATH whose `node` is this version. */
async function pathWith(node: string): Promise<Record<string, string>> {
  const folder = await temporaryFolder(testScope());
  symlinkSync(nodes.get(node) ?? '', join(folder, 'node'));
  return { PATH: `${folder}:/usr/bin:/bin` };
}

/** Packs a copy of the checkout, because packing edits package.json, and installs the tarball without a network. Keeps the built dist/. */
async function packAndInstall(): Promise<void> {
  const copy = await copySources(['.ci', 'bin', 'crds/schemas', 'dist', 'LICENSE', 'README.md']);
  scope.defer(() => copy.remove());
  source = copy.folder;
  writeFileSync(join(source, 'build.ts'), '');
  prefix = await temporaryFolder(scope);
  const npm = ['--cache', join(prefix, 'cache'), '--offline', '--no-audit', '--no-fund', '--no-update-notifier'];
  await run('npm', ['pack', '--pack-destination', prefix, ...npm], { cwd: source });
  const tarball = join(prefix, `vmcp-${version}.tgz`);
  await run('npm', ['install', '--global', '--prefix', prefix, ...npm, tarball], { cwd: prefix });
  program = join(prefix, 'bin', 'vmcp');
}

describe.runIf(isBuilt)('the npm package', () => {
  beforeAll(packAndInstall);

  it('holds what runs, and nothing else, in less than 25 MB', () => {
    const folder = join(prefix, 'lib', 'node_modules', 'vmcp');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      statSync(join(folder, file)).isFile(),
    );
    const known =
      /^(LICENSE|README\.md|package\.json|bin\/vmcp|crds\/schemas\/\w+\.json|dist\/cedar\/cedar_wasm(\.cjs|_bg\.wasm)|dist\/cel\/cel\.cjs|dist\/.+\.js(\.LEGAL\.txt)?)$/u;
    expect(files.filter((file) => !known.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'bin/vmcp', 'crds/schemas/all.json']));
    const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(bytes).toBeLessThan(25_000_000);
  });

  it('installs no dependencies, and packing keeps the package.json of the repository', () => {
    expect(readdirSync(join(prefix, 'lib', 'node_modules'))).toEqual(['vmcp']);
    expect(readFileSync(join(source, 'package.json'), 'utf8')).toBe(readFileSync(join(root, 'package.json'), 'utf8'));
  });

  it.each(versions.filter((node) => nodeVersionProblem(node) === undefined))('serves on Node.js %s', async (node) => {
    const options = { program, env: await pathWith(node) };
    const { stdout } = await vmcpResult(testScope(), ['version'], options);
    expect(stdout).toBe(`vmcp ${version} (Node.js ${node}, ${process.platform}/${process.arch})\n`);

    const backend = await startHttpBackend(testScope(), 'sdk-1-stateful', 'remote');
    const vmcp = await startVmcp(testScope(), { ...options, files: gatewayOver([entry('remote', backend.url)]) });
    const call = ['call', 'remote_add', '--arg', 'a=2', '--arg', 'b=3', '--state', vmcp.state];
    expect(await vmcpResult(testScope(), call, options)).toMatchObject({ code: 0, stdout: '5\n', stderr: '' });
  });

  it.runIf(versions.some((node) => nodeVersionProblem(node) !== undefined))(
    'explains that the Node.js of the machine is too old',
    async () => {
      const old = versions.find((node) => nodeVersionProblem(node) !== undefined) ?? '';
      const { code, stderr } = await vmcpResult(testScope(), ['version'], { program, env: await pathWith(old) });
      const sentence = `${old} is too old: install version 22.15 or later from https://nodejs.org`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: `vmcp cannot run on this Node.js: ${sentence}\n` });
    },
  );

  it('creates and imports folders, and knows the clients', async () => {
    const cwd = await temporaryFolder(testScope());
    const file = join(cwd, 'mcp.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { files: { command: 'npx', args: ['-y', 'some-server'] } } }));
    const options = { program, cwd, env: await pathWith(process.versions.node) };
    const results = [];
    for (const line of ['init one', 'validate one', 'import mcp.json --dir two', 'connect']) {
      results.push(await vmcpResult(testScope(), line.split(' '), options));
    }
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(results[3]?.stdout).toContain('claude-code');
  });
});
