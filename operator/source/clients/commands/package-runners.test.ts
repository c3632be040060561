import { describe, expect, it } from 'vitest';
import { readServer } from '../read-server.ts';

const read = (line: string, more: object = {}) => {
  const [command, ...args] = line.split(' ');
  const reading = readServer({ command, args, ...more });
  if ('leftOut' in reading) return reading.leftOut;
  const {
    runs: _runs,
    transport: _transport,
    env,
    secrets,
    ...server
  } = reading.server as never as Record<string, unknown>;
  const variables = [...(env as { name: string }[]), ...(secrets as { name: string }[])].map(({ name }) => name);
  return {
    ...server,
    ...(variables.length > 0 && { variables }),
    ...(reading.warnings.length > 0 && { warnings: reading.warnings }),
  };
};

describe('a runner of npm packages is npx', () => {
  it.each<[line: string, server: object]>([
    ['pnpm dlx @acme/mcp@1.2 serve', { image: 'npx://@acme/mcp@1.2', args: ['serve'] }],
    ['pnpm --silent dlx acme', { image: 'npx://acme', args: [] }],
    [
      'pnpm dlx --package=@acme/mcp other -v',
      { image: 'npx://@acme/mcp', args: ['-v'], package: { command: 'other' } },
    ],
    ['pnpx acme --port 1', { image: 'npx://acme', args: ['--port', '1'] }],
    ['C:\\x\\pnpm.cmd dlx acme', { image: 'npx://acme', args: [] }],
    ['bunx acme@latest', { image: 'npx://acme@latest', args: [] }],
    ['bunx -p @acme/mcp other', { image: 'npx://@acme/mcp', args: [], package: { command: 'other' } }],
    ['bun x acme -y', { image: 'npx://acme', args: ['-y'] }],
    ['yarn dlx -q acme a', { image: 'npx://acme', args: ['a'] }],
    ['yarn dlx -p acme -p helper@2 acme', { image: 'npx://acme', args: [], package: { with: ['helper@2'] } }],
    ['npm exec -y acme', { image: 'npx://acme', args: [] }],
    ['npm exec --yes -- acme --port 1', { image: 'npx://acme', args: ['--port', '1'] }],
    ['npm exec acme -- --port 1', { image: 'npx://acme', args: ['--port', '1'] }],
    [
      'npm exec --package=@acme/mcp -- other a',
      { image: 'npx://@acme/mcp', args: ['a'], package: { command: 'other' } },
    ],
    ['npm x acme a', { image: 'npx://acme', args: ['a'] }],
    ['/usr/bin/env npx -y acme', { image: 'npx://acme', args: [] }],
    ['env KEY=a=b npx acme', { image: 'npx://acme', args: [], variables: ['KEY'] }],
    ['env bunx acme', { image: 'npx://acme', args: [] }],
    ['cmd /d /s /c npx -y acme', { image: 'npx://acme', args: [] }],
    ['cmd.exe /C pnpm dlx acme', { image: 'npx://acme', args: [] }],
    ['cmd /c env KEY=a npx acme', { image: 'npx://acme', args: [], variables: ['KEY'] }],
  ])('%s', (line, server) => {
    expect(read(line)).toEqual(server);
  });

  it.each(['pnpm dlx', 'bunx', 'yarn dlx', 'npm exec -y', 'bun x'])('%s mcp-remote is the URL itself', (line) => {
    const [command, ...args] = `${line} mcp-remote https://a.example/mcp`.split(' ');
    expect(readServer({ command, args })).toMatchObject({ server: { url: 'https://a.example/mcp' } });
  });
});

describe('a runner of Python packages is uvx', () => {
  it.each<[line: string, server: object]>([
    ['pipx run acme --port 1', { image: 'uvx://acme', args: ['--port', '1'] }],
    ['pipx run acme==1.2', { image: 'uvx://acme==1.2', args: [] }],
    [
      'pipx run --no-cache --python 3.12 --spec acme==1 serve a',
      { image: 'uvx://acme==1', args: ['a'], package: { command: 'serve', python: '3.12' } },
    ],
    ['uv tool run --from acme serve', { image: 'uvx://acme', args: [], package: { command: 'serve' } }],
    ['uv run --with acme acme --port 1', { image: 'uvx://acme', args: ['--port', '1'] }],
    [
      'uv run --with mcp[cli]==1.2 mcp run /work/server.py',
      { image: 'uvx://mcp[cli]==1.2', args: ['run', '/work/server.py'] },
    ],
    [
      'uv run --no-project --with rich,acme --python 3.12 acme',
      { image: 'uvx://acme', args: [], package: { with: ['rich'], python: '3.12' } },
    ],
    ['/usr/bin/env uvx acme', { image: 'uvx://acme', args: [] }],
  ])('%s', (line, server) => {
    expect(read(line)).toEqual(server);
  });
});

it.each([
  ['pnpm run start', 'command://pnpm'],
  ['pnpm --dir /work dlx acme', 'command://pnpm'],
  ['pnpm dlx --allow-build=a acme', 'command://pnpm'],
  ['bunx --bun acme', 'command://bunx'],
  ['bun run /work/server.ts', 'command://bun'],
  ['bunx github:acme/mcp', 'command://bunx'],
  ['yarn start', 'command://yarn'],
  ['npm run start', 'command://npm'],
  ['npm exec acme --port 1', 'command://npm'],
  ['pipx install acme', 'command://pipx'],
  ['pipx run https://a.example/server.py', 'command://pipx'],
  ['uv run --with rich python /work/server.py', 'command://uv'],
  ['uv run --with acme>=2 acme', 'command://uv'],
  ['uv run --project /work --with acme acme', 'command://uv'],
  ['env -i npx acme', 'command://env'],
])('%s runs as it is', (line, image) => {
  expect(read(line)).toMatchObject({ image, args: line.split(' ').slice(1) });
});

it('a command in a folder with a project runs as it is', () => {
  expect(read('uv run --with acme acme', { cwd: '/work' })).toMatchObject({
    image: 'command://uv',
    workingDir: '/work',
  });
});

it.each([
  [{ command: 'env', args: ['-S', 'npx -y acme'] }, 'npx://acme'],
  [{ command: 'cmd', args: ['/c', 'npx -y acme'] }, 'npx://acme'],
  [{ command: 'pnpm dlx acme' }, 'npx://acme'],
  [{ command: ['/usr/bin/env', 'uvx', 'acme'] }, 'uvx://acme'],
])('%j may be one text', (value, image) => {
  expect(readServer(value)).toMatchObject({ server: { image } });
});

it.each([
  {
    command: 'npx',
    args: ['acme'],
    env: null,
    url: null,
    headers: null,
    cwd: null,
    disabled: null,
    timeout: null,
    type: null,
  },
  { command: { path: 'npx', args: ['acme'], env: null } },
  { command: 'npx', args: ['acme'], env: { KEY: null }, env_vars: null, tools: null },
])('null is absent in %j', (value) => {
  expect(readServer(value)).toEqual({
    server: { runs: 'here', image: 'npx://acme', transport: 'stdio', args: [], env: [], secrets: [] },
    warnings: [],
  });
});

it.each([
  { command: null, args: null, url: 'https://a.example/mcp', headers: null, requestInit: null },
  { command: '', args: [], url: 'https://a.example/mcp', headers: { 'X-Key': null } },
])('null is absent in %j of a URL', (value) => {
  expect(readServer(value)).toMatchObject({ server: { url: 'https://a.example/mcp', headers: [] }, warnings: [] });
});
