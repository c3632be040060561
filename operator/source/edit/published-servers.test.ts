import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SCHEMES } from '../../../gateway/workloads/runner/schemes/index.ts';
import { importedServers } from '../clients/imported-servers.ts';
import { importFiles } from './import-files.ts';

/** Fields that decide which program runs, and the warnings about the rest. */
interface Outcome {
  readonly [field: string]: unknown;
  readonly warnings?: readonly string[];
}

/** Imports a server as `vmcp import` does. Returns the fields of its resource, or the reason why it is left out. */
function imported(value: unknown): Outcome | string {
  const { servers, leftOut, files } = importFiles(importedServers([{ name: 'it', value }]), 'desk');
  if (leftOut[0] !== undefined) return leftOut[0].reason;
  const text = files.find(({ name }) => name === 'it.yaml')?.text ?? '';
  const { groupRef: _group, transport, env, secrets, ...spec } = (parse(text) as { spec: Outcome }).spec;
  const names = [env, secrets].flatMap((list) => (list ?? []) as { name: string; key?: string }[]);
  const variables = names.map(({ name, key }) => key ?? name).toSorted();
  return {
    ...spec,
    ...(transport !== 'stdio' && { transport }),
    ...(variables.length > 0 && { variables }),
    ...(servers[0]?.warnings.length !== 0 && { warnings: servers[0]?.warnings ?? [] }),
  };
}

const line = (text: string, more: object = {}) => {
  const [command, ...args] = text.split(' ');
  return { command, args, ...more };
};
const part = (text: string): unknown => expect.stringContaining(text);

/** Shapes of the configurations in the READMEs of some 700 published servers, with invented names. */
describe('a published configuration runs the program that it names', () => {
  it.each<[title: string, value: unknown, outcome: object]>([
    ['npx', line('npx -y @acme/mcp'), { image: 'npx://@acme/mcp' }],
    ['npx with a range', line('npx -y acme@>=1.2 a'), { image: 'npx://acme@>=1.2', args: ['a'] }],
    ['npx of nvm', line('C:\\nvm4w\\nodejs\\npx.ps1 -y acme@latest'), { image: 'npx://acme@latest' }],
    [
      'npx in cmd with its option',
      line('cmd /C npx --yes=true acme -- -x'),
      { image: 'npx://acme', args: ['--', '-x'] },
    ],
    [
      'npx with flags in one argument',
      line('npx -yq -p acme@1 other'),
      { image: 'npx://acme@1', package: { command: 'other' } },
    ],
    [
      'npx with its options in the command',
      { command: 'npx -y acme', args: ['a b'] },
      { image: 'npx://acme', args: ['a b'] },
    ],
    [
      'uvx of a version',
      line('uvx acme.server@1.2 --transport stdio'),
      { image: 'uvx://acme.server==1.2', args: ['--transport', 'stdio'] },
    ],
    [
      'uvx with an option in one argument',
      line('uvx -p3.12 --from=acme[all]==2 serve'),
      { image: 'uvx://acme[all]==2', package: { command: 'serve', python: '3.12' } },
    ],
    [
      'uv tool run in Windows',
      line('uv tool run --from acme@latest acme.exe'),
      { image: 'uvx://acme', package: { command: 'acme.exe' } },
    ],
    ['a list as command', { command: ['uvx', 'acme', '-v'] }, { image: 'uvx://acme', args: ['-v'] }],
    [
      'docker with attached values',
      line('docker run -i --rm=true -eKEY=v -e=MODE=a -v/a:/b:ro acme/mcp:1 -t stdio'),
      {
        image: 'acme/mcp:1',
        args: ['-t', 'stdio'],
        variables: ['KEY', 'MODE'],
        volumes: [{ name: 'mount-1', hostPath: '/a', mountPath: '/b', readOnly: true }],
      },
    ],
    [
      'docker with its flags in one argument',
      line('docker run -ite KEY acme/mcp', { env: { KEY: 'v' } }),
      { image: 'acme/mcp', variables: ['KEY'] },
    ],
    [
      'podman with a digest',
      line(`podman run -i --init quay.io/acme/mcp@sha256:${'a'.repeat(64)}`),
      { image: `quay.io/acme/mcp@sha256:${'a'.repeat(64)}` },
    ],
    [
      'uv with a folder',
      line('uv --directory /work run acme.py'),
      { image: 'command://uv', args: ['--directory', '/work', 'run', 'acme.py'] },
    ],
    ['bunx', line('bunx -y acme'), { image: 'npx://acme' }],
    ['deno', line('deno run -A npm:acme@1'), { image: 'command://deno', args: ['run', '-A', 'npm:acme@1'] }],
    ['pipx', line('pipx run --spec acme==1 serve'), { image: 'uvx://acme==1', package: { command: 'serve' } }],
    [
      'a shell',
      line('bash -c', { args: ['-c', 'cd $HOME && exec acme'] }),
      { image: 'command://bash', args: ['-c', 'cd $HOME && exec acme'] },
    ],
    [
      'a binary with its folder',
      line('./bin/acme', { working_directory: '/work' }),
      { image: 'command:///work/bin/acme', workingDir: '/work' },
    ],
    [
      'python with a variable',
      line('/v/bin/python -m acme', { cwd: '/v', env: { PYTHONPATH: '/v' } }),
      {
        image: 'command:///v/bin/python',
        args: ['-m', 'acme'],
        workingDir: '/v',
        variables: ['PYTHONPATH'],
      },
    ],
    [
      'Zed with a nested environment',
      { command: { path: 'npx', args: ['acme'], env: { KEY: 'a' } }, settings: {} },
      { image: 'npx://acme', variables: ['KEY'] },
    ],
    [
      'a mirror of npm',
      line('npx acme', { env: { npm_config_registry: 'https://npm.example' } }),
      {
        image: 'npx://acme',
        variables: ['npm_config_registry'],
        package: { installEnv: [{ name: 'npm_config_registry', value: 'https://npm.example' }] },
      },
    ],
    [
      'an index of uv',
      line('uvx acme', { env: { UV_EXTRA_INDEX_URL: 'https://pypi.example', UV_PYTHON: '3.12' } }),
      {
        image: 'uvx://acme',
        variables: ['UV_EXTRA_INDEX_URL', 'UV_PYTHON'],
        package: { installEnv: [{ name: 'UV_EXTRA_INDEX_URL', value: 'https://pypi.example' }] },
      },
    ],
  ])('%s', (_title, value, outcome) => {
    const result = imported(value);
    expect(result).toEqual(outcome);
    const { image } = result as { image: string };
    const scheme = SCHEMES.find(({ prefix }) => image.startsWith(prefix));
    expect(() => scheme?.check(image)).not.toThrow();
  });

  it.each<[title: string, value: unknown, outcome: object]>([
    [
      'headers of Copilot',
      { url: 'https://a.example/mcp', requestInit: { headers: { 'X-Key': 'k' } } },
      { headers: ['X-Key'] },
    ],
    [
      'a short name of the transport',
      { url: 'https://a.example/sse', type: 'streamable' },
      { transport: 'streamable-http' },
    ],
    ['another case of the transport', { url: 'https://a.example/x', transportType: 'SSE' }, { transport: 'sse' }],
    ['no name of the transport', { url: 'https://a.example/sse', type: 'remote' }, { transport: 'sse' }],
    [
      'mcp-remote over HTTP only',
      line('npx mcp-remote https://a.example/sse --transport http-only'),
      { transport: 'streamable-http' },
    ],
    [
      'mcp-remote that prefers HTTP',
      line('npx mcp-remote https://a.example/mcp --transport http-first'),
      { transport: 'streamable-http' },
    ],
    ['mcp-remote with timeouts', line('npx mcp-remote https://a.example/mcp --keep-alive --connect-timeout 5'), {}],
  ])('%s', (_title, value, { headers = [], ...outcome }: { headers?: readonly string[] }) => {
    const { headerForward, ...result } = imported(value) as Outcome;
    const { addHeadersFromSecret = [] } = (headerForward ?? {}) as { addHeadersFromSecret?: { headerName: string }[] };
    expect(result).toMatchObject(outcome);
    expect(result.warnings).toBeUndefined();
    expect(addHeadersFromSecret.map(({ headerName }) => headerName)).toEqual(headers);
  });
});

describe('a published configuration that vmcp cannot run as it is', () => {
  it.each<[value: unknown, reason: string]>([
    [
      line('docker run -i --env-file .env acme/mcp'),
      'docker run --env-file: to run it as it is, set image to command://docker',
    ],
    [line('docker run -p 3000:3000 acme/mcp'), 'docker run -p: to run it as it is'],
    [line('podman run --network=host acme/mcp'), '--network "host": to run it as it is, set image to command://podman'],
    [line('docker run -v /a:/b:z acme/mcp'), '-v "/a:/b:z": to run it as it is'],
    [line('docker run -v ~/a:/b acme/mcp'), '"~/a:/b" does not begin with an absolute path: write one'],
    [line('docker run --rm=false acme/mcp'), 'docker run --rm'],
    [line('docker exec -i acme serve'), '"docker run" only: to run it as it is'],
    [line('docker run -e ${KEY} acme/mcp'), '"${KEY}" cannot name an environment variable'],
    [line('uvx --env-file .env acme'), 'uvx --env-file: to run it as it is, set image to command://uvx'],
    [line('npx --node-options=--x acme'), 'npx --node-options: to run it as it is, set image to command://npx'],
    [line('npx mcp-remote https://a.example/mcp --header-file /h'), 'write its headers into --header'],
    [
      line('npx mcp-remote https://a.example/mcp --new'),
      '--new is an option of mcp-remote without an equivalent: to run mcp-remote itself',
    ],
    [{ command: 'node /a.js', args: ['x'] }, 'write only the program into command, and each argument into args'],
    [{ url: 'https://a.example', type: 'websocket' }, 'vmcp has no transport "websocket"'],
  ])('%j is left out with what to do', (value, reason) => {
    expect(imported(value)).toEqual(part(reason));
  });

  it.each<[value: unknown, warning: string]>([
    [line('docker run acme/mcp', { env: { KEY: 'a' } }), 'so KEY is left out: add it to env if the server reads it'],
    [
      line('npx acme', { env: { npm_config_registry: '${env:MIRROR}' } }),
      'gets no npm_config_registry: write its value into package.installEnv',
    ],
    [
      line('uvx acme', { env: { UV_INDEX_URL: 'https://me:key@pypi.example' } }),
      'UV_INDEX_URL looks like a secret and stays readable',
    ],
    [line('npx acme $KEY'), 'argument 1 contains $KEY, which vmcp does not replace'],
    [line('npx acme', { disabledTools: ['drop'] }), 'its disabledTools is left out: choose its tools'],
    [line('npx acme', { sandbox: { network: false } }), 'its "sandbox" is left out: vmcp does not know it'],
    [{ url: 'https://a.example', oauth: { clientId: 'a' } }, 'its "oauth" is left out'],
    [line('npx mcp-remote https://a.example --ignore-tool delete*'), 'its --ignore-tool is left out: choose its tools'],
    [line('npx mcp-remote https://a.example --resource https://b.example'), 'its --resource is left out'],
    [line('npx mcp-remote https://a.example --client-credentials'), 'its --client-credentials is left out'],
    [line('npx mcp-remote https://a.example', { env: { NODE_EXTRA_CA_CERTS: '/ca.pem' } }), 'belongs into caBundleRef'],
  ])('%j warns', (value, warning) => {
    expect((imported(value) as Outcome).warnings).toEqual([part(warning)]);
  });

  it.each(['$ACME_KEY', '${ACME_KEY}', '${env:ACME_KEY}'])('takes the variable %s from the host', (text) => {
    const { servers } = importFiles(
      importedServers([{ name: 'a', value: line('npx acme', { env: { KEY: text } }) }]),
      'a',
    );
    expect(servers[0]?.spec).toMatchObject({ env: [{ name: 'KEY', fromEnv: 'ACME_KEY' }], secrets: [] });
  });

  it.each(['Bearer $ACME_KEY', 'Bearer ${{ secrets.ACME_KEY }}'])('asks for the value of %s', (text) => {
    const value = { url: 'https://a.example', headers: { Authorization: text } };
    expect(importFiles(importedServers([{ name: 'a', value }]), 'a').missing).toHaveLength(1);
  });

  it('keeps a value that only looks like a variable', () => {
    const value = line('npx acme', { env: { A: 'my-$$e-$ecret', B: '$2a$10$xy', C: 'a$B' } });
    expect(importFiles(importedServers([{ name: 'a', value }]), 'a').missing).toEqual([]);
  });

  it('says nothing about members of the client itself', () => {
    const members = {
      type: 'stdio',
      disabled: false,
      timeout: 60,
      autoApprove: [],
      tools: ['*'],
      _comment: 'x',
      '//': 'y',
    };
    expect(imported(line('npx acme', members))).toEqual({ image: 'npx://acme' });
  });
});
