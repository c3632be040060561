import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { python, pythonServer, withUv } from './python.ts';
import type { Scope } from './scope.ts';
import { temporaryFolder } from './vmcp.ts';

const serve = join(dirname(fileURLToPath(import.meta.url)), 'backends', 'serve.ts');
const VERSION = '1.0.0';

/** npm packages of the registry: the kind of server (backends/serve.ts) that the command of each package runs, by name. */
const NPM_PACKAGES = {
  'vmcp-fixture': 'stdio-sdk-1',
  'vmcp-fixture-v2': 'stdio-sdk-2',
  'vmcp-fixture-paged': 'stdio-paged',
  'vmcp-fixture-http': 'sdk-1-stateful',
  'vmcp-fixture-sse': 'sdk-1-sse',
  'vmcp-fixture-crash-loop': 'crash-loop',
  'vmcp-fixture-hang': 'hang',
  'vmcp-fixture-garbage': 'garbage',
} as const;

export type FixturePackage = keyof typeof NPM_PACKAGES;

/** Returns the `npx://` image of a fixture package. */
export const npx = (name: FixturePackage): string => `npx://${name}@${VERSION}`;

/** Name of the Python package that `pythonIndex` offers. */
export const PYTHON_PACKAGE = 'vmcp-fixture-py';

/** Returns the environment in which `npm install` finds the fixture packages on a loopback registry, and no other package. */
export async function npmRegistry(scope: Scope): Promise<Record<string, string>> {
  const folder = await temporaryFolder(scope);
  const tarballs = new Map<string, Buffer>();
  const server = createServer((req, res) => {
    const [name = '', file] = decodeURIComponent(req.url ?? '/')
      .slice(1)
      .split('/-/');
    const tarball = tarballs.get(name);
    if (tarball === undefined) notFound(res);
    else if (file === undefined) sendPackument(res, name, tarball, `http://${req.headers.host ?? ''}`);
    else res.writeHead(200, { 'content-type': 'application/octet-stream' }).end(tarball);
  });
  for (const [name, kind] of Object.entries(NPM_PACKAGES)) tarballs.set(name, await packNpm(folder, name, kind));
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: join(folder, 'cache') };
}

const notFound = (res: ServerResponse) =>
  res.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');

function sendPackument(res: ServerResponse, name: string, tarball: Buffer, origin: string): void {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `${origin}/${name}/-/${name}-${VERSION}.tgz`, integrity };
  const version = { name, version: VERSION, bin: { [name]: 'bin.mjs' }, dist };
  const packument = { name, 'dist-tags': { latest: VERSION }, versions: { [VERSION]: version } };
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(packument));
}

/** Packs a package whose command runs the fixture from this checkout. The compile cache halves the time of a start. */
async function packNpm(folder: string, name: string, kind: string): Promise<Buffer> {
  const parent = join(folder, name);
  const program = `#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
enableCompileCache();
process.argv.splice(1, 1, ${JSON.stringify(serve)}, ${JSON.stringify(kind)});
await import(${JSON.stringify(pathToFileURL(serve).href)});
`;
  await mkdir(join(parent, 'package'), { recursive: true });
  await writeFile(join(parent, 'package', 'bin.mjs'), program, { mode: 0o755 });
  const manifest = { name, version: VERSION, type: 'module', bin: { [name]: 'bin.mjs' } };
  await writeFile(join(parent, 'package', 'package.json'), JSON.stringify(manifest));
  await promisify(execFile)('tar', ['-czf', 'package.tgz', 'package'], { cwd: parent });
  return readFile(join(parent, 'package.tgz'));
}

const WHEEL_PROGRAM = `
import os
import sys
import sysconfig
import zipfile

folder, interpreter, server = sys.argv[1:]
info = "vmcp_fixture_py-1.0.0.dist-info/"
program = f"""import os, sys

def main():
    os.execv({interpreter!r}, [{interpreter!r}, {server!r}, *sys.argv[1:]])
"""
files = {
    "vmcp_fixture_py.py": program,
    info + "METADATA": "Metadata-Version: 2.1\\nName: vmcp-fixture-py\\nVersion: 1.0.0\\n",
    info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: e2e\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    info + "entry_points.txt": "[console_scripts]\\nvmcp-fixture-py = vmcp_fixture_py:main\\n",
}
with zipfile.ZipFile(os.path.join(folder, "vmcp_fixture_py-1.0.0-py3-none-any.whl"), "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
    wheel.writestr(info + "RECORD", "".join(f"{name},,\\n" for name in [*files, info + "RECORD"]))
`;

/** Returns the environment with uv, in which uv and pip find the Python fixture package in a folder, and no other package. */
export async function pythonIndex(scope: Scope): Promise<Record<string, string>> {
  const folder = await temporaryFolder(scope);
  const interpreter = await python();
  await promisify(execFile)(interpreter, ['-c', WHEEL_PROGRAM, folder, interpreter, pythonServer]);
  const offline = { PIP_FIND_LINKS: folder, PIP_NO_INDEX: '1', UV_FIND_LINKS: folder, UV_OFFLINE: '1' };
  return { ...(await withUv()), ...offline };
}
