import { expect, it } from 'vitest';
import { OFFICIAL } from './catalog.ts';
import { convertCatalog } from './server-entries.ts';
import { catalogOf, ECHO, NOTES } from './testdata/records.ts';

const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided';
const IMAGE = 'ghcr.io/example/echo:1.2.0';

const serverOf = (change: object) => convertCatalog(catalogOf({ ...ECHO, ...change })).servers.get(ECHO.name);
const remoteOf = (change: object) => convertCatalog(catalogOf({ ...NOTES, ...change })).remoteServers.get(NOTES.name);
const packageOf = (change: object) => serverOf({ packages: [{ ...ECHO.packages[0], ...change }] });

it('converts a server with a container image, with only the members that it has', () => {
  expect(serverOf({})).toEqual({
    name: ECHO.name,
    description: ECHO.description,
    tier: 'Community',
    status: 'Active',
    transport: 'stdio',
    tools: [],
    image: IMAGE,
  });
});

it('converts a remote server with its headers', () => {
  const headers = [
    { name: 'X-Key', description: 'Key.', isRequired: true, isSecret: true, choices: [] },
    { name: 'X-Kind' },
  ];
  const [remote] = NOTES.remotes;
  expect(
    remoteOf({
      remotes: [
        { ...remote, headers },
        { type: 'sse', url: 'https://other.example.com' },
      ],
    }),
  ).toEqual({
    name: NOTES.name,
    title: 'Notes',
    description: NOTES.description,
    tier: 'Community',
    status: 'Active',
    transport: 'streamable-http',
    tools: [],
    url: 'https://notes.example.com/mcp',
    headers: [
      { name: 'X-Key', description: 'Key.', required: true, secret: true },
      { name: 'X-Kind', description: '', required: false },
    ],
  });
});

it.each([
  ['npm', { identifier: '@example/echo', version: '1.0.0' }, 'npx://@example/echo@1.0.0'],
  ['npm', { identifier: 'echo' }, 'npx://echo'],
  ['pypi', { identifier: 'echo', version: '1.0.0' }, 'uvx://echo==1.0.0'],
])('converts a package of %s to an image that vmcp runs', (registryType, found, image) => {
  expect(serverOf({ packages: [{ registryType, ...found }] })).toMatchObject({ image, transport: 'stdio' });
});

it('prefers the container image to other packages', () => {
  const npm = { registryType: 'npm', identifier: 'echo', version: '1.0.0' };
  expect(serverOf({ packages: [npm, ...ECHO.packages] })).toMatchObject({ image: IMAGE });
});

it.each([
  ['without packages and remotes', { packages: [] }],
  ['with several container images', { packages: [...ECHO.packages, ...ECHO.packages] }],
  [
    'with packages of other kinds only',
    { packages: [{ registryType: 'mcpb', identifier: 'https://example.com/a.mcpb' }] },
  ],
])('has no entry for a server %s', (_name, change) => {
  expect(serverOf(change)).toBeUndefined();
});

it('lists a server with an image and a remote as both', () => {
  const { servers, remoteServers } = convertCatalog(catalogOf({ ...ECHO, remotes: NOTES.remotes }));
  expect([servers.has(ECHO.name), remoteServers.has(ECHO.name)]).toEqual([true, true]);
});

it('reads the variables of the package and of -e arguments', () => {
  const environmentVariables = [
    { name: 'MODE', description: 'Mode.', default: 'fast' },
    { name: 'FIXED', value: '1' },
  ];
  const variables = { token: { isRequired: true, isSecret: true } };
  const runtimeArguments = [
    { type: 'positional', value: 'run' },
    { type: 'named', name: '--rm' },
    { type: 'named', name: '-e', value: 'TOKEN={token}', description: 'Token.', variables },
    { type: 'named', name: '-e', value: 'LEVEL=3' },
  ];
  expect(packageOf({ environmentVariables, runtimeArguments })?.env_vars).toEqual([
    { name: 'MODE', description: 'Mode.', required: false, default: 'fast' },
    { name: 'FIXED', description: '', required: false, default: '1' },
    { name: 'TOKEN', description: 'Token.', required: true, secret: true },
    { name: 'LEVEL', description: '', required: false, default: '3' },
  ]);
});

it('reads the arguments that have a value', () => {
  const packageArguments = [
    { type: 'positional', value: 'serve' },
    { type: 'named', name: '--port', default: '80' },
    { type: 'named', name: '--folder', value: '{folder}' },
    { type: 'positional', valueHint: 'file' },
  ];
  expect(packageOf({ packageArguments })?.args).toEqual(['serve', '--port', '80']);
});

it('reads the port of a server over HTTP', () => {
  const transport = { type: 'streamable-http', url: 'http://localhost:3000/mcp' };
  expect(packageOf({ transport })).toMatchObject({ transport: 'streamable-http', target_port: 3000 });
  expect(packageOf({ transport: { type: 'sse', url: '{host}/sse' } })).not.toHaveProperty('target_port');
});

it('reads the status that the registry states, and the repository', () => {
  const record = { server: { ...ECHO, repository: { url: 'https://github.com/example/echo' } } };
  const { servers } = convertCatalog(catalogOf({ ...record, _meta: { [OFFICIAL]: { status: 'deprecated' } } }));
  expect(servers.get(ECHO.name)).toMatchObject({
    status: 'Deprecated',
    repository_url: 'https://github.com/example/echo',
  });
});

it('adds the members of the publisher for the image, of any vendor, and leaves out unusable ones', () => {
  const added = {
    tier: 'Official',
    tools: ['echo'],
    tags: 'wrong',
    proxy_port: 8080,
    args: ['--quiet'],
    permissions: { network: { outbound: { insecure_allow_all: true } } },
    unknown: true,
  };
  const _meta = { [PUBLISHER]: { 'com.other': { else: {} }, 'com.vendor': { [IMAGE]: added } } };
  const { tags: _t, unknown: _u, ...expected } = added;
  const entry = serverOf({ _meta });
  expect(entry).toMatchObject(expected);
  expect(entry).not.toHaveProperty('tags');
  expect(entry).not.toHaveProperty('unknown');
  expect(serverOf({ _meta: { [PUBLISHER]: { 'com.vendor': { 'another-image': added } } } })?.tier).toBe('Community');
});

it('adds the members of the publisher for the URL of a remote server', () => {
  const oauth_config = { issuer: 'https://login.example.com', scopes: ['notes'] };
  const _meta = { [PUBLISHER]: { 'com.vendor': { [NOTES.remotes[0]!.url]: { oauth_config, args: ['x'] } } } };
  expect(remoteOf({ _meta })).toMatchObject({ oauth_config });
  expect(remoteOf({ _meta })).not.toHaveProperty('args');
});

it('prefers streamable HTTP to SSE', () => {
  const remotes = [
    { type: 'sse', url: 'https://notes.example.com/sse' },
    { type: 'streamable-http', url: 'https://notes.example.com/mcp' },
  ];
  expect(remoteOf({ remotes })).toMatchObject({ transport: 'streamable-http', url: 'https://notes.example.com/mcp' });
  expect(remoteOf({ remotes: remotes.slice(0, 1) })).toMatchObject({ transport: 'sse' });
});

it('lists the variables of the URL of a remote server, and fills in their defaults', () => {
  const variables = { region: { default: 'eu', choices: ['eu', 'us'] }, tenant: { description: 'Your tenant.' } };
  const url = 'https://{tenant}.{region}.example.com/mcp';
  expect(remoteOf({ remotes: [{ type: 'streamable-http', url, variables }] })).toMatchObject({
    url: 'https://{tenant}.eu.example.com/mcp',
    url_template: url,
    variables: [
      { name: 'tenant', description: 'Your tenant.', required: true },
      { name: 'region', required: false, default: 'eu', choices: ['eu', 'us'] },
    ],
  });
});

it('gives the reason for every server without an entry', () => {
  const nuget = { ...ECHO, name: 'com.example/nuget', packages: [{ registryType: 'nuget', identifier: 'a' }] };
  const old = { ...ECHO, name: 'com.example/old', packages: [{ registry_type: 'npm', identifier: 'a' }] };
  const socket = { ...NOTES, name: 'com.example/socket', remotes: [{ type: 'websocket', url: 'wss://a.example' }] };
  const { problems } = convertCatalog(catalogOf(ECHO, nuget, old, { ...NOTES, packages: nuget.packages }, [], socket));
  expect(problems).toEqual([
    { server: 'com.example/old', reason: 'packages.0.registryType is missing' },
    { server: 'servers[4]', reason: 'it must be object' },
    { server: 'com.example/nuget', reason: 'vmcp runs packages of oci, npm and pypi, not of nuget' },
    { server: 'com.example/socket', reason: 'vmcp connects over streamable-http and sse, not over websocket' },
  ]);
});
