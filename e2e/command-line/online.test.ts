import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createAuthority } from '../../gateway/outbound/testdata/authority.ts';
import { freePort } from '../harness/free-port.ts';
import { configMap, entry, group, resource, server, virtualServer, yaml } from '../harness/manifests.ts';
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
  return listening(scope, createServer(serving(() => documents)));
}

/** Answers with the document of a path, which may depend on the host of the request. */
const serving =
  (documentsOf: (host: string) => Readonly<Record<string, unknown>>): RequestListener =>
  (req, res) => {
    const document = documentsOf(req.headers.host ?? '')[req.url ?? ''];
    res.writeHead(document === undefined ? 404 : 200).end(JSON.stringify(document));
  };

/** Starts a server. Returns its host and port. */
async function listening(scope: Scope, host: Server): Promise<string> {
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
    'gateway spec.incomingAuth.oidcConfig.inline.issuer UnreachableOnline',
    'npm-missing spec.image NotFoundOnline',
    'python-missing spec.image NotFoundOnline',
    'image-missing spec.image NotFoundOnline',
    'remote-gone spec.remoteUrl UnreachableOnline',
  ]);
  expect((await vmcpResult(scope, ['validate', 'a.yaml'], { cwd: folder })).code).toBe(0);
});

const KEY = { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

/** Starts a provider whose certificate only its own authority has signed. It registers no clients. */
async function startPrivateProvider(scope: Scope) {
  const authority = createAuthority('corp');
  const { key, cert } = authority.sign('IP:127.0.0.1');
  const documentsOf = (host: string): Readonly<Record<string, unknown>> => {
    const issuer = `https://${host}`;
    return {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys`, scopes_supported: ['openid', 'mail'] },
      '/keys': { keys: [KEY] },
      '/token': {},
    };
  };
  const host = await listening(scope, createSecureServer({ key, cert }, serving(documentsOf)));
  return { ca: authority.cert, issuer: `https://${host}` };
}

it('validate --online and doctor check providers with their own CA, trusted issuers, registration and scopes', async () => {
  const scope = testScope();
  const { ca, issuer } = await startPrivateProvider(scope);
  const closed = `http://127.0.0.1:${String(await freePort())}`;
  const own = 'http://127.0.0.1:4483';
  const caBundleRef = { configMapRef: { name: 'corp-ca' } };
  const git = { authorizationEndpoint: `${issuer}/auth`, tokenEndpoint: `${issuer}/token`, caBundleRef };
  const dcrConfig = { discoveryUrl: `${issuer}/.well-known/openid-configuration` };
  const authServerConfig = {
    issuer: own,
    upstreamProviders: [
      {
        name: 'corp',
        type: 'oidc',
        oidcConfig: { issuerUrl: issuer, clientId: 'desk', caBundleRef, scopes: ['openid', 'mali'] },
      },
      { name: 'git', type: 'oauth2', oauth2Config: { ...git, dcrConfig } },
    ],
    trustedIssuers: [{ issuerUrl: closed, expectedAudience: 'desk', allowedDelegateClients: ['*'] }],
  };
  const incomingAuth = { type: 'oidc', audience: `${own}/mcp`, oidcConfigRef: { name: 'own' } };
  const files = yaml(
    group(),
    configMap('corp-ca', { 'ca.crt': ca }),
    resource('MCPOIDCConfig', 'own', { type: 'inline', inline: { issuer: own } }),
    virtualServer({}, { incomingAuth, authServerConfig }),
    entry('remote', `${closed}/mcp`),
  );
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, { 'a.yaml': files });
  const line = (field: string) => files.split('\n').findIndex((text) => text.includes(field)) + 1;
  const { stdout, stderr } = await vmcpResult(scope, ['validate', '--online', 'a.yaml'], { cwd: folder });
  const found = [...`${stdout}${stderr}`.matchAll(/^a\.yaml:(\d+): VirtualMCPServer\/\w+: (\S+): .* \[(\w+)\]/gmu)]
    .map(([, number = '', path = '', reason = '']) => `${number} ${path} ${reason}`)
    .filter((text) => /Online|Listed|Offered/u.test(text));
  const providers = 'spec.authServerConfig.upstreamProviders';
  expect(found).toEqual([
    `${String(line('discoveryUrl'))} ${providers}[1].oauth2Config.dcrConfig.discoveryUrl RegistrationNotOffered`,
    `${String(line(`issuerUrl: ${closed}`))} spec.authServerConfig.trustedIssuers[0].issuerUrl UnreachableOnline`,
    `${String(line('- mali'))} ${providers}[0].oidcConfig.scopes[1] ScopeNotListed`,
  ]);
  const doctor = await vmcpResult(scope, ['doctor', 'a.yaml', '-o', 'json'], { cwd: folder });
  const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; message: string }[] };
  const message = checks.find(({ name }) => name === 'issuers')?.message ?? '';
  expect(message).toContain(`a.yaml:${String(line('discoveryUrl'))}: VirtualMCPServer/gateway: ${providers}[1].`);
  expect(message).toContain('spec.authServerConfig.trustedIssuers[0].issuerUrl: issuer');
});
