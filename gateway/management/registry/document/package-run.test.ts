import { describe, expect, it } from 'vitest';
import type { Package } from '../schema/server-json.ts';
import { runOf } from './package-run.ts';

const NPM = { registryType: 'npm', identifier: '@example/echo', version: '1.0.0', transport: { type: 'stdio' } };
const PYPI = { registryType: 'pypi', identifier: 'echo-mcp', version: '2.1.0', transport: { type: 'stdio' } };
const OCI = { registryType: 'oci', identifier: 'example/echo', transport: { type: 'stdio' } };

const run = (found: Package) => {
  const result = runOf([found]);
  if ('reason' in result) throw new Error(result.reason);
  return result;
};
const reasonOf = (...packages: Package[]) => {
  const result = runOf(packages);
  return 'reason' in result ? result.reason : undefined;
};

it.each([
  [{ registryBaseUrl: 'https://docker.io', version: '1.0.2' }, 'docker.io/example/echo:1.0.2'],
  [{ registryBaseUrl: 'https://ghcr.io/', version: '1.0.2' }, 'ghcr.io/example/echo:1.0.2'],
  [{ registryBaseUrl: 'https://registry-1.docker.io/v2/', version: '1' }, 'docker.io/example/echo:1'],
  [{ registryBaseUrl: 'https://host.example:5000/team', version: '1' }, 'host.example:5000/team/example/echo:1'],
  [{ version: `sha256:${'a'.repeat(64)}` }, `example/echo@sha256:${'a'.repeat(64)}`],
  [{ identifier: 'localhost:5000/echo', version: '1' }, 'localhost:5000/echo:1'],
  [{ identifier: 'ghcr.io/a/b', registryBaseUrl: 'https://ghcr.io', version: '3' }, 'ghcr.io/a/b:3'],
  [{ identifier: 'ghcr.io/a/b:v3', version: '3' }, 'ghcr.io/a/b:v3'],
  [{ identifier: 'echo' }, 'echo'],
  [{ identifier: 'echo:1', version: '2' }, 'echo:1'],
])('runs the image of its registry at its version: %j', (change, image) => {
  expect(run({ ...OCI, ...change }).image).toBe(image);
});

it.each([
  [NPM, 'https://registry.npmjs.org', undefined],
  [NPM, 'https://npm.example.com/a/', { npm_config_registry: 'https://npm.example.com/a/' }],
  [NPM, 'http://127.0.0.1:4873', { npm_config_registry: 'http://127.0.0.1:4873/' }],
  [PYPI, 'https://pypi.org', undefined],
  [PYPI, 'https://test.pypi.org', { UV_DEFAULT_INDEX: 'https://test.pypi.org/simple/' }],
  [PYPI, 'https://a.example/root/+simple/', { UV_DEFAULT_INDEX: 'https://a.example/root/+simple/' }],
])('installs a package from its registry: %j %s', (found, registryBaseUrl, env) => {
  expect(run({ ...found, registryBaseUrl }).package?.install_env).toEqual(env);
});

it('reads flags, values and the defaults of variables', () => {
  const folder = { folder: { description: 'Folder.', default: '/data' } };
  const packageArguments = [
    { type: 'named', name: '--stdio' },
    { type: 'named', name: '--quiet', value: '' },
    { type: 'named', name: '--yes', isRequired: true, format: 'boolean', description: 'Asks nothing.' },
    { type: 'named', name: '--root', value: '{folder}/in', variables: folder },
    { type: 'named', name: '--level=', default: 'info' },
    { type: 'named', name: '--port', description: 'Port to run on.' },
    { type: 'named', name: '--color', format: 'boolean', description: 'Prints colors.' },
    { value: '{"a":1}' },
    { type: 'positional', valueHint: 'file' },
  ];
  const words = ['--stdio', '--quiet', '--yes', '--root', '/data/in', '--level=info', '{"a":1}'];
  expect(run({ ...NPM, packageArguments }).args).toEqual(words);
});

it('asks for the values that a required argument has no default for', () => {
  const packageArguments = [
    { type: 'positional', valueHint: 'target_dir', description: 'Path to serve.', isRequired: true },
    { type: 'named', name: '--api-key', isRequired: true, isSecret: true },
    { type: 'named', name: '--url', value: 'https://{host}/', variables: { host: { isRequired: true } } },
  ];
  const { args, asked } = run({ ...NPM, packageArguments });
  expect(args).toEqual(['{target_dir}', '--api-key', '{api-key}', '--url', 'https://{host}/']);
  expect(asked).toEqual([
    { name: 'target_dir', description: 'Path to serve.', required: true },
    { name: 'api-key', description: '', required: true, secret: true },
    { name: 'host', description: '', required: true },
  ]);
});

it('reads the value of an environment variable whose variables have defaults', () => {
  const variables = { host: { default: 'localhost' }, pw: { isSecret: true, isRequired: true } };
  const environmentVariables = [
    { name: 'HOST', value: 'http://{host}:80', variables },
    { name: 'URL', value: 'db://{pw}@{host}', variables },
  ];
  expect(run({ ...NPM, environmentVariables }).env_vars).toMatchObject([
    { name: 'HOST', required: false, default: 'http://localhost:80' },
    { name: 'URL', required: true, secret: true },
  ]);
});

describe('options of the runtime', () => {
  const option = (name: string, value?: string) => ({ type: 'named', name, ...(value !== undefined && { value }) });
  const word = (value: string) => ({ type: 'positional', value });

  it('reads those of a container engine', () => {
    const variables = { src: { description: 'Folder.', isRequired: true } };
    const runtimeArguments = [
      ...[word('run'), word('-i'), option('--rm'), option('-e', 'LEVEL=3')],
      { ...option('--mount', 'type=bind,src={src},dst=/project'), variables },
      ...[option('-v', '/srv:/srv:ro'), option('--network', 'host'), option('-p', '8080:3000'), option('--privileged')],
      ...[option('-l', 'team=a'), option('--name', 'echo')],
    ];
    expect(run({ ...OCI, runtimeArguments, transport: { type: 'streamable-http' } })).toMatchObject({
      permissions: { write: ['{src}:/project'], read: ['/srv:/srv'], network: { mode: 'host' }, privileged: true },
      env_vars: [{ name: 'LEVEL', default: '3' }],
      target_port: 3000,
      asked: [{ name: 'src', required: true }],
    });
  });

  it('reads those of npx and uvx', () => {
    expect(run({ ...NPM, runtimeArguments: [{ value: '-y' }] })).not.toHaveProperty('package');
    expect(
      run({ ...NPM, runtimeArguments: [word('-y'), option('-p')], packageArguments: [word('echo-stdio'), word('-v')] }),
    ).toMatchObject({ image: 'npx://@example/echo@1.0.0', args: ['-v'], package: { command: 'echo-stdio' } });
    expect(run({ ...PYPI, runtimeArguments: [option('--python', '3.12'), option('--with=numpy')] })).toMatchObject({
      ...{ image: 'uvx://echo-mcp==2.1.0', package: { python: '3.12', with: ['numpy'] } },
    });
    expect(run({ ...PYPI, runtimeArguments: [option('--from', 'echo-mcp[all]')] })).toMatchObject({
      ...{ image: 'uvx://echo-mcp[all]==2.1.0', package: { command: 'echo-mcp' } },
    });
    const index = option('--default-index', 'https://test.pypi.org/simple');
    expect(run({ ...PYPI, runtimeArguments: [index], runtimeHint: 'uvx' })).toMatchObject({
      package: { install_env: { UV_DEFAULT_INDEX: 'https://test.pypi.org/simple' } },
    });
  });

  it.each([
    [OCI, [option('--user', '0')], '--user'],
    [OCI, [option('--mount', 'type=tmpfs,dst=/a')], 'type=tmpfs'],
    [NPM, [option('--node-options', '--inspect')], '--node-options'],
    [NPM, [option('--registry', 'http://npm.example.com')], 'http://npm.example.com'],
    [PYPI, [word('another-package')], 'another-package'],
    [PYPI, [option('--with')], '--with has no value'],
  ])('refuses others by name: %j %j', (found, runtimeArguments, name) => {
    expect(reasonOf({ ...found, runtimeArguments })).toContain(name);
  });

  it('refuses those of another runtime', () => {
    expect(reasonOf({ ...PYPI, runtimeHint: 'python', runtimeArguments: [word('-m')] })).toContain('python');
  });
});

it.each([
  [{ ...NPM, registryType: 'nuget' }, 'not of nuget'],
  [{ ...NPM, fileSha256: 'a' }, 'fileSha256'],
  [{ ...NPM, registryBaseUrl: 'http://npm.example.com' }, 'registryBaseUrl'],
  [{ ...PYPI, registryBaseUrl: 'https://user:secret@pypi.example.com' }, 'without user and password'],
  [{ ...OCI, identifier: 'ghcr.io/a/b', registryBaseUrl: 'https://quay.io' }, 'two registries'],
  [{ ...NPM, transport: { type: 'sse', url: 'http://localhost:80/events' } }, '/events'],
  [{ ...NPM, transport: { type: 'sse', headers: [{ name: 'X-Key', isRequired: true }] } }, 'X-Key'],
])('refuses a package that it cannot run as it is described: %j', (found, reason) => {
  expect(reasonOf(found)).toContain(reason);
});

it('takes the next package where it cannot run the first', () => {
  expect(runOf([{ ...NPM, fileSha256: 'a' }, PYPI])).toMatchObject({ image: 'uvx://echo-mcp==2.1.0' });
  expect(reasonOf({ ...OCI }, { ...OCI })).toContain('2 container images');
});

it('reads the port of a URL that names arguments or variables', () => {
  const transport = { type: 'streamable-http', url: 'http://localhost:{PORT}/mcp' };
  expect(run({ ...NPM, transport, environmentVariables: [{ name: 'PORT', default: '8123' }] }).target_port).toBe(8123);
  const packageArguments = [{ type: 'named', name: '--port', default: '9000' }];
  const url = 'http://localhost:{--port}/mcp';
  expect(run({ ...NPM, transport: { ...transport, url }, packageArguments }).target_port).toBe(9000);
});
