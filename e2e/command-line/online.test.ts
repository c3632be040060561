import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { entry, group, server, virtualServer, yaml } from '../harness/manifests.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

/** Starts a host that is a registry of npm, an index of Python packages and a registry of images. */
async function startRegistries(scope: Scope): Promise<string> {
  const documents: Readonly<Record<string, unknown>> = {
    '/npm/present': { 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': {} } },
    '/simple/present/': { versions: ['1.0.0'] },
    '/v2/present/manifests/1': {},
    '/mcp': {},
  };
  const host = createServer((req, res) => {
    const document = documents[req.url ?? ''];
    res.writeHead(document === undefined ? 404 : 200).end(JSON.stringify(document));
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    host.closeAllConnections();
    host.close();
  });
  return `127.0.0.1:${String((host.address() as AddressInfo).port)}`;
}

it('vmcp validate --online reports what does not exist, with file and line', async () => {
  const scope = testScope();
  const host = await startRegistries(scope);
  const closed = `http://127.0.0.1:${String(await freePort())}`;
  const inline = { issuer: closed, audience: 'desk' };
  const http = { transport: 'streamable-http' };
  const servers = [
    server('npm', 'npx://present@1'),
    server('npm-missing', 'npx://missing'),
    server('python', 'uvx://present==1.0.0'),
    server('python-missing', 'uvx://present==9'),
    server('image', `${host}/present:1`, http),
    server('image-missing', `${host}/present:2`, http),
    entry('remote', `http://${host}/mcp`),
    entry('remote-gone', `${closed}/mcp`),
  ];
  const incomingAuth = { type: 'oidc', oidcConfig: { type: 'inline', inline } };
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, { 'a.yaml': yaml(group(), virtualServer({}, { incomingAuth }), ...servers) });
  const env = { npm_config_registry: `http://${host}/npm`, UV_INDEX_URL: `http://${host}/simple` };
  const { code, stdout } = await vmcpResult(scope, ['validate', '--online', 'a.yaml'], { env, cwd: folder });
  const lines = [...stdout.matchAll(/^a\.yaml:\d+: \w+\/([\w-]+): ([\w.]+): .* \[(\w+)\]$/gmu)];
  expect(code).toBe(2);
  expect(lines.map(([, ...facts]) => facts.join(' '))).toEqual([
    'gateway spec.incomingAuth UnreachableOnline',
    'npm-missing spec.image NotFoundOnline',
    'python-missing spec.image NotFoundOnline',
    'image-missing spec.image NotFoundOnline',
    'remote-gone spec.remoteUrl UnreachableOnline',
  ]);
  expect((await vmcpResult(scope, ['validate', 'a.yaml'], { cwd: folder })).code).toBe(0);
});
