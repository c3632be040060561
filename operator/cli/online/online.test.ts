import { describe, expect, it } from 'vitest';
import { newSnapshot, type Resource } from '../../resolve/snapshot.ts';
import { NoReply, type Get, type GetOptions } from './probes.ts';
import { ONLINE_CHECKS, parseReference, examineOnline } from './examine-online.ts';
import type { Subject } from './online-check.ts';
import { providerSubjects } from './provider-subjects.ts';

interface Answer {
  readonly status?: number;
  readonly document?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers by URL, and records the requests. Other URLs cannot be reached. */
function network(answers: Readonly<Record<string, Answer | ((options: GetOptions) => Answer)>>) {
  const seen: string[] = [];
  const get: Get = async (url, options = {}) => {
    seen.push(`${options.method ?? 'GET'} ${url}`);
    const answer = answers[url];
    if (answer === undefined) throw new NoReply(`${new URL(url).host} cannot be reached (ENOTFOUND)`);
    const { status = 200, document = {}, headers = {} } = typeof answer === 'function' ? answer(options) : answer;
    return { status, header: (name) => headers[name], body: JSON.stringify(document) };
  };
  return { get, seen };
}

const check = (type: Subject['type'], value: string, get: Get, env = {}) =>
  ONLINE_CHECKS[type]({ type, value }, { get, env });

const problem = (message: string) => ({ severity: 'problem', reason: 'NotFoundOnline', message });

describe('a package of npm', () => {
  const document = { 'dist-tags': { latest: '2.1.0', next: '3.0.0-beta' }, versions: { '1.0.0': {}, '2.1.0': {} } };
  const { get, seen } = network({
    'https://registry.npmjs.org/files': { document },
    'https://registry.npmjs.org/@a%2ffiles': { document },
    'https://registry.npmjs.org/missing': { status: 404 },
    'https://registry.npmjs.org/private': { status: 401 },
    'http://127.0.0.1:4873/npm/files': { document },
  });

  it.each(['npx://files', 'npx://@a/files', 'npx://files@1.0.0', 'npx://files@^2', 'npx://files@next'])(
    '%s exists',
    async (value) => {
      expect(await check('npm', value, get)).toBeUndefined();
    },
  );

  it.each([
    ['npx://missing', problem('npm has no package "missing": correct its name')],
    ['npx://files@1.0.1', problem('npm has no version 1.0.1 of "files": the latest is 2.1.0')],
    ['npx://files@beta', problem('npm has no version beta of "files": the latest is 2.1.0')],
    ['npx://private', { severity: 'warning', reason: 'NotChecked' }],
  ])('%s is reported', async (value, finding) => {
    expect(await check('npm', value, get)).toMatchObject(finding);
  });

  it('comes from the configured registry', async () => {
    await check('npm', 'npx://files', get, { npm_config_registry: 'http://127.0.0.1:4873/npm/' });
    expect(seen.at(-1)).toBe('GET http://127.0.0.1:4873/npm/files');
    const gone = await check('npm', 'npx://files', get, { npm_config_registry: 'https://gone.example' });
    expect(gone).toMatchObject({ severity: 'problem', reason: 'UnreachableOnline' });
  });
});

describe('a package of PyPI', () => {
  const { get, seen } = network({
    'https://pypi.org/simple/mcp-server-time/': { document: { versions: ['2025.1', '2025.1.17'] } },
    'https://pypi.org/simple/missing/': { status: 404 },
    'http://127.0.0.1:3141/simple/mcp-server-time/': { document: 'a page in HTML' },
  });

  it.each(['uvx://mcp-server-time', 'uvx://MCP_server.time==2025.1.17', 'uvx://mcp-server-time[cli]==2025.1.0'])(
    '%s exists',
    async (value) => {
      expect(await check('python', value, get)).toBeUndefined();
    },
  );

  it.each([
    ['uvx://missing', problem('PyPI has no package "missing": correct its name')],
    ['uvx://mcp-server-time==3', problem('PyPI has no version 3 of "mcp-server-time": the newest is 2025.1.17')],
  ])('%s is reported', async (value, finding) => {
    expect(await check('python', value, get)).toEqual(finding);
  });

  it('is looked up in the configured index: only its name when the index does not serve JSON', async () => {
    const env = { UV_INDEX_URL: 'http://127.0.0.1:3141/simple' };
    expect(await check('python', 'uvx://mcp-server-time==3', get, env)).toBeUndefined();
    expect(seen.at(-1)).toBe('GET http://127.0.0.1:3141/simple/mcp-server-time/');
  });
});

describe('an image', () => {
  const challenge = { 'www-authenticate': 'Bearer realm="https://auth.example/token",service="hub",scope="pull a/b"' };
  const token = 'https://auth.example/token?service=hub&scope=pull+a%2Fb';
  const manifest =
    (granted: number) =>
    ({ headers }: GetOptions): Answer =>
      headers?.['authorization'] === 'Bearer anonymous' ? { status: granted } : { status: 401, headers: challenge };
  const { get } = network({
    'https://ghcr.io/v2/a/b/manifests/1': {},
    'https://ghcr.io/v2/a/b/manifests/2': { status: 404 },
    'https://registry-1.docker.io/v2/library/node/manifests/latest': manifest(200),
    'https://registry-1.docker.io/v2/a/b/manifests/latest': manifest(401),
    [token]: { document: { token: 'anonymous' } },
    'http://localhost:5000/v2/mine/manifests/latest': {},
  });

  it.each(['ghcr.io/a/b:1', 'node', 'docker.io/library/node', 'localhost:5000/mine'])('%s exists', async (value) => {
    expect(await check('image', value, get)).toBeUndefined();
  });

  it.each([
    ['ghcr.io/a/b:2', problem('ghcr.io has no image "ghcr.io/a/b:2": correct its name or tag')],
    ['a/b', { severity: 'warning', reason: 'NotChecked' }],
    ['gone.example/a', { severity: 'warning', reason: 'NotChecked' }],
  ])('%s is reported', async (value, finding) => {
    expect(await check('image', value, get)).toMatchObject(finding);
  });

  it.each([
    ['node:24', 'registry-1.docker.io', 'library/node', '24'],
    ['a/b', 'registry-1.docker.io', 'a/b', 'latest'],
    ['127.0.0.1:5000/a:1', '127.0.0.1:5000', 'a', '1'],
    [`ghcr.io/a/b:1@sha256:${'0'.repeat(64)}`, 'ghcr.io', 'a/b', `sha256:${'0'.repeat(64)}`],
  ])('%s is parsed', (value, host, repository, version) => {
    expect(parseReference(value)).toEqual({ host, repository, version });
  });
});

describe('an endpoint', () => {
  const { get } = network({
    'https://idp.example/token': { status: 405 },
    'https://idp.example/missing': { status: 404 },
  });

  it.each([
    ['https://idp.example/token', undefined],
    ['https://idp.example/missing', { severity: 'warning', reason: 'NotChecked' }],
    ['https://gone.example/token', { severity: 'problem', reason: 'UnreachableOnline' }],
  ])('%s is checked', async (value, finding) => {
    const found = await check('endpoint', value, get);
    if (finding) expect(found).toMatchObject(finding);
    else expect(found).toBeUndefined();
  });
});

describe('metadata of a provider', () => {
  const issuer = 'https://idp.example';
  const { get, seen } = network({
    [`${issuer}/.well-known/openid-configuration`]: { document: { issuer, scopes_supported: ['openid', 'a'] } },
    'https://other.example/.well-known/openid-configuration': {
      document: { issuer: 'https://other.example', registration_endpoint: 'https://other.example/reg' },
    },
    'https://hub.example/metadata': { document: { issuer: 'https://hub.example' } },
  });
  const found = async (subject: Omit<Subject, 'value'>, value = 'a') =>
    (await ONLINE_CHECKS[subject.type]({ ...subject, value }, { get, env: {} }))?.reason;

  it.each([
    ['of an issuer that registers clients', { issuer: 'https://other.example' }, undefined],
    ['of one that does not', { issuer }, 'RegistrationNotOffered'],
    ['at a URL, of one that does not', { url: 'https://hub.example/metadata' }, 'RegistrationNotOffered'],
    ['that cannot be read', { url: 'https://gone.example/metadata' }, 'UnreachableOnline'],
  ])('say whether the gateway can register: %s', async (_which, metadata, reason) => {
    expect(await found({ type: 'registration', metadata })).toBe(reason);
  });

  it.each([
    ['listed', 'a', { issuer }, undefined],
    ['not listed', 'b', { issuer }, 'ScopeNotListed'],
    ['of a provider that lists none', 'b', { issuer: 'https://other.example' }, undefined],
    ['of a provider that cannot be reached', 'b', { issuer: 'https://gone.example' }, undefined],
  ])('list scopes: one that is %s', async (_which, value, metadata, reason) => {
    expect(await found({ type: 'scope', metadata }, value)).toBe(reason);
  });

  it('are read once for all scopes', async () => {
    seen.length = 0;
    const subjects = ['a', 'b', 'c'].map((value, index) => ({
      object: { kind: 'VirtualMCPServer', namespace: 'default', name: 'desk' },
      path: `spec.scopes[${String(index)}]`,
      subject: { type: 'scope' as const, value, metadata: { issuer } },
    }));
    const { warnings } = await examineOnline(subjects, { get, env: {} });
    expect(warnings.map(({ path }) => path)).toEqual(['spec.scopes[1]', 'spec.scopes[2]']);
    expect(seen.filter((line) => line.endsWith('/openid-configuration'))).toHaveLength(1);
  });
});

describe('the subjects of identity providers', () => {
  const object = (kind: string, name: string, spec: object) =>
    ({ kind, metadata: { name }, spec }) as unknown as Resource;
  const inline = { issuer: 'https://in.example', caBundleRef: { configMapRef: { name: 'ca' } } };
  const scopes = ['openid'];
  const git = {
    tokenEndpoint: 'https://git.example/t',
    revocationEndpoint: 'https://git.example/r',
    userInfo: { endpointUrl: 'https://git.example/u' },
    dcrConfig: { discoveryUrl: 'https://git.example/m' },
    scopes,
  };
  const authServerConfig = {
    issuer: 'https://desk.example',
    upstreamProviders: [
      { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://corp.example', scopes } },
      { name: 'git', type: 'oauth2', oauth2Config: git },
      { name: 'dyn', type: 'oidc', oidcConfig: { issuerUrl: 'https://dyn.example', dcrConfig: {} } },
    ],
    trustedIssuers: [
      { issuerUrl: 'https://ci.example' },
      { issuerUrl: 'https://b.example', jwksUrl: 'https://b.example/k' },
    ],
  };
  const own = { oidcConfig: { type: 'inline', inline: { issuer: authServerConfig.issuer, audience: 'desk' } } };
  const snapshot = newSnapshot('default', {
    configMaps: [{ name: 'ca', data: { 'ca.crt': 'PEM' } }],
    resources: [
      object('VirtualMCPServer', 'desk', { incomingAuth: own, authServerConfig }),
      object('VirtualMCPServer', 'other', { incomingAuth: { oidcConfigRef: { name: 'shared', scopes } } }),
      object('MCPOIDCConfig', 'shared', {
        type: 'inline',
        inline: { ...inline, introspectionUrl: 'https://in.example/i' },
      }),
      object('MCPExternalAuthConfig', 'exchange', { tokenExchange: { tokenUrl: 'https://in.example/t' } }),
    ],
  });

  it('have the exact path of their field, and the certificates of their block', () => {
    const named = providerSubjects(snapshot).map(
      ({ object: { name }, path, subject: { type, value, ca } }) =>
        `${name} ${path}: ${type} ${value}${ca === undefined ? '' : ' CA'}`,
    );
    const server = 'desk spec.authServerConfig';
    expect(named.toSorted()).toEqual(
      [
        `${server}.upstreamProviders[0].oidcConfig.issuerUrl: issuer https://corp.example`,
        `${server}.upstreamProviders[0].oidcConfig.scopes[0]: scope openid`,
        `${server}.upstreamProviders[1].oauth2Config.tokenEndpoint: endpoint https://git.example/t`,
        `${server}.upstreamProviders[1].oauth2Config.revocationEndpoint: endpoint https://git.example/r`,
        `${server}.upstreamProviders[1].oauth2Config.userInfo.endpointUrl: endpoint https://git.example/u`,
        `${server}.upstreamProviders[1].oauth2Config.dcrConfig.discoveryUrl: registration https://git.example/m`,
        `${server}.upstreamProviders[1].oauth2Config.scopes[0]: scope openid`,
        `${server}.upstreamProviders[2].oidcConfig.issuerUrl: issuer https://dyn.example`,
        `${server}.upstreamProviders[2].oidcConfig.dcrConfig: registration https://dyn.example`,
        `${server}.trustedIssuers[0].issuerUrl: issuer https://ci.example`,
        `${server}.trustedIssuers[1].jwksUrl: issuer https://b.example`,
        'other spec.incomingAuth.oidcConfigRef.scopes[0]: scope openid CA',
        'shared spec.inline.issuer: issuer https://in.example CA',
        'shared spec.inline.introspectionUrl: endpoint https://in.example/i CA',
        'exchange spec.tokenExchange.tokenUrl: endpoint https://in.example/t',
      ].toSorted(),
    );
  });
});

describe('all subjects', () => {
  const named = (name: string, value: string) => ({
    object: { kind: 'MCPServerEntry', namespace: 'default', name },
    path: 'spec.remoteUrl',
    subject: { type: 'url' as const, value },
  });

  it('are checked once each, and reported at every field', async () => {
    const { get, seen } = network({ 'https://up.example/mcp': { status: 405 } });
    const subjects = [
      named('a', 'https://up.example/mcp'),
      named('b', 'https://down.example/mcp'),
      named('c', 'https://down.example/mcp'),
    ];
    const { problems, warnings } = await examineOnline(subjects, { get, env: {} });
    expect(problems.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      'b UnreachableOnline',
      'c UnreachableOnline',
    ]);
    expect(warnings).toEqual([]);
    expect(seen).toEqual(['HEAD https://up.example/mcp', 'HEAD https://down.example/mcp']);
  });

  it('are checked at most 8 at once', async () => {
    let [running, most] = [0, 0];
    const get: Get = async () => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return { status: 200, header: () => undefined, body: '' };
    };
    const subjects = Array.from({ length: 40 }, (_, index) => named(String(index), `https://host/${String(index)}`));
    await examineOnline(subjects, { get, env: {} });
    expect({ running, most }).toEqual({ running: 0, most: 8 });
  });
});
