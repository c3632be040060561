import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Published {
  readonly name: string;
  readonly version: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  /** File name to content. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Starts an npm registry. `downloads` lists the fetched tarballs. Replies to paths of `stalls` stop after their first bytes. */
export async function startRegistry(packages: readonly Published[], stalls: (path: string) => boolean = () => false) {
  const tarballs = new Map(packages.map((one) => [`/${one.name}-${one.version}.tgz`, pack(one)]));
  const downloads: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    const tarball = tarballs.get(path);
    const versions = packages.filter(({ name }) => path === `/${name}`);
    if (stalls(path)) {
      downloads.push(path);
      response.write(tarball?.subarray(0, 100) ?? '{');
    } else if (tarball) {
      downloads.push(path);
      response.end(tarball);
    } else if (versions.length > 0) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(packument(versions, tarballs, `http://${request.headers.host ?? ''}`)));
    } else {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    downloads,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function packument(versions: readonly Published[], tarballs: ReadonlyMap<string, Buffer>, base: string) {
  const entries = versions.map(({ name, version, bin, scripts }) => {
    const path = `/${name}-${version}.tgz`;
    const sha512 = createHash('sha512')
      .update(tarballs.get(path) ?? '')
      .digest('base64');
    const dist = { tarball: `${base}${encodeURI(path)}`, integrity: `sha512-${sha512}` };
    return [version, { name, version, ...(bin && { bin }), ...(scripts && { scripts, hasInstallScript: true }), dist }] as const;
  });
  return {
    name: versions[0]?.name,
    'dist-tags': { latest: entries.at(-1)?.[0] },
    versions: Object.fromEntries(entries),
  };
}

function pack({ name, version, bin, scripts, files = {} }: Published): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-pack-'));
  mkdirSync(join(dir, 'package'));
  writeFileSync(join(dir, 'package', 'package.json'), JSON.stringify({ name, version, bin, scripts }));
  for (const [file, content] of Object.entries(files)) writeFileSync(join(dir, 'package', file), content);
  execFileSync('tar', ['-czf', join(dir, 'out.tgz'), '-C', dir, 'package']);
  const tarball = readFileSync(join(dir, 'out.tgz'));
  rmSync(dir, { recursive: true });
  return tarball;
}
