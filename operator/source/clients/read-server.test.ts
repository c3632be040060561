import { describe, expect, it } from 'vitest';
import { readServer } from './read-server.ts';
import type { ProcessSpec, RemoteSpec } from './server-spec.ts';

const read = (value: unknown) => {
  const reading = readServer(value);
  if ('leftOut' in reading) throw new Error(reading.leftOut);
  return reading;
};
const command = (text: string, env: Record<string, string> = {}) => {
  const [name, ...args] = text.split(' ');
  return { command: name, args, env };
};
const processOf = (value: unknown) => read(value).server as ProcessSpec;
const remoteOf = (value: unknown) => read(value).server as RemoteSpec;
const reasonOf = (value: unknown) => {
  const reading = readServer(value);
  return 'leftOut' in reading ? reading.leftOut : `read: ${JSON.stringify(reading.server)}`;
};

describe('a command', () => {
  it.each([
    ['npx -y @modelcontextprotocol/server-memory', 'npx://@modelcontextprotocol/server-memory', []],
    ['npx --yes -q tavily-mcp@0.1.2 --verbose -y', 'npx://tavily-mcp@0.1.2', ['--verbose', '-y']],
    ['npx @playwright/mcp@latest --headless', 'npx://@playwright/mcp@latest', ['--headless']],
    ['npx -y -- some-server a', 'npx://some-server', ['a']],
    ['npx -p @acme/tool tool serve', 'npx://@acme/tool', ['serve']],
    ['npx --package=@acme/tool@1 -y tool', 'npx://@acme/tool@1', []],
    ['/opt/homebrew/bin/npx -y some-server', 'npx://some-server', []],
    ['C:\\nodejs\\npx.cmd -y some-server', 'npx://some-server', []],
    ['cmd /c npx -y some-server x', 'npx://some-server', ['x']],
    ['cmd.exe /C npx some-server', 'npx://some-server', []],
    ['uvx mcp-server-git --repository /work', 'uvx://mcp-server-git', ['--repository', '/work']],
    ['uvx mcp-server-time@latest', 'uvx://mcp-server-time', []],
    ['uvx mcp-server-time@2025.1.17', 'uvx://mcp-server-time==2025.1.17', []],
    ['uvx mcp[cli]==1.2 run', 'uvx://mcp[cli]==1.2', ['run']],
    ['uvx --from mcp-server-fetch==1.0 mcp-server-fetch -v', 'uvx://mcp-server-fetch==1.0', ['-v']],
    ['uv tool run blender-mcp', 'uvx://blender-mcp', []],
    ['docker run -i --rm mcp/fetch', 'mcp/fetch', []],
    ['docker run -it --rm --init --name x ghcr.io/a/b:1.0 stdio', 'ghcr.io/a/b:1.0', ['stdio']],
    ['podman container run --rm -i --pull=always docker.io/mcp/time', 'docker.io/mcp/time', []],
  ])('%s runs %s', (text, image, args) => {
    expect(read(command(text))).toEqual({
      server: { runs: 'here', image, transport: 'stdio', args, env: [], secrets: [] },
      warnings: [],
    });
  });

  it.each([
    ['C:\\tools\\server.exe', '"C:\\tools\\server.exe"'],
    ['node.exe server.js', 'its command "node.exe" is not npx, uvx or docker'],
    ['./server', 'its command "./server" is neither the name of a program nor an absolute path'],
    ['~/bin/server', '"~/bin/server" is neither'],
    ['${workspaceFolder}/server', '"${workspaceFolder}/server" is neither'],
    ['bin/server', '"bin/server" is neither'],
    ['npx', 'npx has no package'],
    ['npx -y', 'npx has no package'],
    ['npx -y github:acme/server', '"github:acme/server" is not a package of the npm registry'],
    [
      'npx -y ./server',
      '"./server" is not a package of the npm registry: to run it as it is, set image to command://npx',
    ],
    ['npx -p a', 'npx has no command of "a"'],
    ['npx -p a -p github:a/b a', '"github:a/b" is not a package of the npm registry'],
    ['npx -p a ../x', '"../x" is not the name of a command'],
    ['npx --registry https://r.example a', 'vmcp has no equivalent of npx --registry'],
    ['npx -c x', 'vmcp has no equivalent of npx -c'],
    ['npx -p', 'vmcp has no equivalent of npx -p'],
    ['npx -y mcp-remote', 'mcp-remote has no URL'],
    ['uvx', 'uvx has no package'],
    ['uvx --from a', 'uvx has no package or no command'],
    ['uvx --from git+https://github.com/oraios/serena serena', 'is not a package of PyPI'],
    ['npx git+https://ghp_x@github.com/a/b', '"git+https://...@github.com/a/b" is not'],
    ['npx mcp-remote http://127.0.0.1:4483/mcp', 'it is vmcp itself'],
    ['uvx mcp>=1.0', 'is not a package of PyPI with one version: to run it as it is, set image to command://uvx'],
    ['uvx --with ./x y', '"./x" is not a package of PyPI'],
    ['uvx --with-editable x y', 'vmcp has no equivalent of uvx --with-editable'],
    ['uvx --from a ./c', '"./c" is not the name of a command'],
    ['docker mcp gateway run', '"docker run" only'],
    ['docker run -i -v data:/b mcp/fetch', 'the mount "data:/b" does not begin with an absolute path'],
    ['docker run -i -v ${userHome}:/b mcp/fetch', 'does not begin with an absolute path'],
    ['docker run -i -v /a mcp/fetch', 'vmcp has no equivalent of docker run -v "/a"'],
    ['docker run -i -v /a:/b:z mcp/fetch', 'vmcp has no equivalent of docker run -v'],
    ['docker run --mount type=volume,src=a,dst=/b mcp/fetch', 'vmcp has no equivalent of docker run --mount'],
    ['docker run --mount type=bind,src=/a,dst=/b,bind-propagation=shared mcp/fetch', 'docker run --mount'],
    ['docker run --mount type=bind,src=/a mcp/fetch', 'vmcp has no equivalent of docker run --mount'],
    ['docker run --network=host mcp/fetch', 'vmcp has no equivalent of docker run --network "host"'],
    ['docker run --gpus all mcp/fetch', 'vmcp has no equivalent of docker run --gpus'],
    ['docker run -i --rm', 'docker run has no image'],
    ['docker run -i Not/An/Image', 'is not a container image'],
  ])('leaves out %s', (text, reason) => {
    expect(reasonOf(command(text))).toContain(reason);
  });

  it('of docker keeps its mounts and its closed network', () => {
    const mounts = '-v /a:/data --volume=/b:/more:ro --mount type=bind,src=/c,dst=/projects/c,ro';
    const text = `docker run -i --rm ${mounts} --mount type=bind,source=/d,target=/d,readonly=false --net none mcp/files /data`;
    expect(processOf(command(text))).toMatchObject({
      image: 'mcp/files',
      args: ['/data'],
      volumes: [
        { name: 'mount-1', hostPath: '/a', mountPath: '/data' },
        { name: 'mount-2', hostPath: '/b', mountPath: '/more', readOnly: true },
        { name: 'mount-3', hostPath: '/c', mountPath: '/projects/c', readOnly: true },
        { name: 'mount-4', hostPath: '/d', mountPath: '/d' },
      ],
      permissionProfile: { name: 'none' },
    });
  });

  it.each([
    ['npx -p @acme/tool other -v', { command: 'other' }],
    ['npx -y -p @acme/tool -p helper@2 tool', { with: ['helper@2'] }],
    ['npx --package=tool --package=@acme/b b', { command: 'b', with: ['@acme/b'] }],
    ['uvx --python 3.12 --from acme-tool acme_other', { command: 'acme_other', python: '3.12' }],
    ['uvx --from kubectl-mcp-server==1.0 kubectl-mcp-serve', { command: 'kubectl-mcp-serve' }],
    [
      'uvx --with httpx>=0.27,<1 --with=rich[jupyter,x]==1,click y',
      { with: ['httpx>=0.27,<1', 'rich[jupyter,x]==1', 'click'] },
    ],
    ['uvx -p python3.13 --with pydantic@2.1 y', { with: ['pydantic==2.1'], python: 'python3.13' }],
  ])('%s chooses %j', (text, choices) => {
    const { server, warnings } = read(command(text));
    expect({ choices: (server as ProcessSpec).package, warnings }).toEqual({ choices, warnings: [] });
  });

  it.each([
    ['node /home/me/server.js --fast', 'command://node', ['/home/me/server.js', '--fast']],
    ['/usr/local/bin/my-server', 'command:///usr/local/bin/my-server', []],
    ['python3.12 -u /work/server.py', 'command://python3.12', ['-u', '/work/server.py']],
    ['/work/.venv/bin/python /work/server.py', 'command:///work/.venv/bin/python', ['/work/server.py']],
    ['uv --directory /work run server', 'command://uv', ['--directory', '/work', 'run', 'server']],
    ['uv run --project /work serve', 'command://uv', ['run', '--project', '/work', 'serve']],
    ['/opt/homebrew/bin/uv run --project /w s', 'command:///opt/homebrew/bin/uv', ['run', '--project', '/w', 's']],
    ['bunx --bun some-server', 'command://bunx', ['--bun', 'some-server']],
    ['java -jar /opt/server.jar', 'command://java', ['-jar', '/opt/server.jar']],
    ['cmd /c node /x.js', 'command://node', ['/x.js']],
    ['bash -c npx', 'command://bash', ['-c', 'npx']],
  ])('%s runs that program', (text, image, args) => {
    const server = { runs: 'here', image, transport: 'stdio', args, env: [], secrets: [] };
    expect(read(command(text))).toEqual({ server, warnings: [] });
  });

  it('of another program keeps its folder, and finds the program there', () => {
    const args = ['-m', 'server'];
    expect(read({ command: 'python', args, cwd: '/work' })).toEqual({
      server: {
        runs: 'here',
        image: 'command://python',
        transport: 'stdio',
        args,
        env: [],
        secrets: [],
        workingDir: '/work',
      },
      warnings: [],
    });
    expect(processOf({ command: './bin/server', cwd: '/work/' }).image).toBe('command:///work/bin/server');
    expect(processOf({ command: '../server', cwd: '/work/a' }).image).toBe('command:///work/server');
    expect(processOf({ command: '/My Tools/server', args: ['x'] }).image).toBe('command:///My Tools/server');
  });

  it.each(['work', '~/work', '${workspaceFolder}', '/a/${env:B}', 5])(
    'of another program with the cwd %j is left out',
    (cwd) => {
      expect(reasonOf({ command: 'node', args: ['/x.js'], cwd })).toMatch(/^its cwd .*is not an absolute path/u);
    },
  );

  it.each(['node server.js', 'node ./dist/index.mjs', 'python -m server', 'python src/server.py', 'uv run server.py'])(
    '%s warns about the folder',
    (text) => {
      expect(read(command(text)).warnings).toEqual([
        expect.stringContaining(
          'is read in the folder where you start vmcp: write an absolute path, or set workingDir',
        ),
      ]);
    },
  );

  it('of another program keeps values of env for a Secret', () => {
    const { secrets, env } = processOf(command('node /x.js', { KEY: 'b', TOKEN: '${env:HOST}' }));
    expect({ secrets, env }).toEqual({
      secrets: [{ name: 'KEY', value: 'b' }],
      env: [{ name: 'TOKEN', fromEnv: 'HOST' }],
    });
  });

  it('keeps values of env for a Secret, as texts', () => {
    const { secrets, env } = processOf({ command: 'npx', args: ['x'], env: { A: 'b', PORT: 80, ON: true, E: '' } });
    expect(env).toEqual([]);
    expect(secrets).toEqual([
      { name: 'A', value: 'b' },
      { name: 'PORT', value: '80' },
      { name: 'ON', value: 'true' },
      { name: 'E', value: '' },
    ]);
  });

  it.each(['${input:github_token}', 'Bearer ${TOKEN}', '${workspaceFolder}', '${env:A}${env:B}'])(
    'has no value for %s',
    (text) => {
      const { env, secrets } = processOf(command('npx x', { KEY: text }));
      expect({ env, secrets }).toEqual({ env: [], secrets: [{ name: 'KEY', missing: text }] });
    },
  );

  it.each(['${env:github_token}', '${env:GITHUB_TOKEN}', '${GITHUB_TOKEN}'])('takes %s from the host', (text) => {
    const { env, secrets } = processOf(command('npx x', { KEY: text, OTHER: 'a' }));
    expect(env).toEqual([{ name: 'KEY', fromEnv: text.replace(/^\$\{(?:env:)?|\}$/gu, '') }]);
    expect(secrets).toEqual([{ name: 'OTHER', value: 'a' }]);
  });

  it('of docker passes only the variables of -e', () => {
    const text = 'docker run -i --rm -e GITHUB_TOKEN -e HOST_KEY --env=MODE=fast=1 -e MODE=slow ghcr.io/a/b';
    const { env, secrets } = processOf(command(text, { GITHUB_TOKEN: 'ghp_x', UNUSED: 'y' }));
    expect(secrets).toEqual([
      { name: 'GITHUB_TOKEN', value: 'ghp_x' },
      { name: 'MODE', value: 'slow' },
    ]);
    expect(env).toEqual([{ name: 'HOST_KEY', fromEnv: 'HOST_KEY' }]);
  });

  it('of Codex takes the variables in env_vars from the host', () => {
    const value = {
      command: 'npx',
      args: ['x'],
      env: { A: 'b' },
      env_vars: ['TOKEN', { name: 'KEY', source: 'local' }],
    };
    const { env, secrets } = processOf(value);
    expect(env).toEqual([
      { name: 'TOKEN', fromEnv: 'TOKEN' },
      { name: 'KEY', fromEnv: 'KEY' },
    ]);
    expect(secrets).toEqual([{ name: 'A', value: 'b' }]);
  });

  it('of Zed may be an object', () => {
    const nested = { source: 'custom', command: { path: 'npx', args: ['-y', 'x'] }, settings: {} };
    expect(processOf(nested).image).toBe('npx://x');
  });

  it('quotes no argument that it leaves out', () => {
    expect(reasonOf({ command: 'node server.js --key abc' })).not.toContain('abc');
    expect(reasonOf({ command: '/opt/server --key abc' })).not.toContain('abc');
  });

  it('may be a whole line', () => {
    expect(processOf({ command: 'npx -y some-server --fast' })).toMatchObject({
      image: 'npx://some-server',
      args: ['--fast'],
    });
    expect(reasonOf({ command: 'npx -y some-server "a b"' })).toContain('is not npx, uvx or docker');
  });

  it('warns about members without an equivalent', () => {
    const value = { command: 'npx', args: ['x'], cwd: '/work', envFile: '.env' };
    expect(read(value).warnings).toEqual([
      'its cwd is left out: write absolute paths into its args',
      'its envFile is not read: add its variables to the Secret of the server',
    ]);
  });
});

it.each([{ command: 'npx', args: ['x'] }, { url: 'https://a.example/mcp' }])(
  'warns about a filter of tools of %j',
  (value) => {
    expect(read({ ...value, disabled_tools: ['delete'] }).warnings).toEqual([
      'its disabled_tools is left out: choose its tools with config.aggregation.tools of the VirtualMCPServer, because these become visible: delete',
    ]);
  },
);

describe('a URL', () => {
  it.each([
    ['of Cursor', { url: 'https://a.example/mcp' }, 'streamable-http'],
    ['of Claude Code', { type: 'http', url: 'https://a.example/mcp' }, 'streamable-http'],
    ['of Cline', { type: 'streamableHttp', url: 'https://a.example/mcp', disabled: false }, 'streamable-http'],
    ['of Windsurf', { serverUrl: 'https://a.example/sse' }, 'sse'],
    ['of Gemini CLI', { httpUrl: 'https://a.example/sse' }, 'streamable-http'],
    ['with type sse', { type: 'sse', url: 'https://a.example/events' }, 'sse'],
    ['with transport', { transport: 'sse', url: 'http://127.0.0.1:3000/mcp' }, 'sse'],
    ['of mcp-remote', command('npx -y mcp-remote https://a.example/sse'), 'sse'],
    ['of mcp-remote@latest', command('npx mcp-remote@latest https://a.example/mcp 3334 --debug'), 'streamable-http'],
    ['of mcp-remote over SSE', command('npx mcp-remote --transport sse-only https://a.example/mcp'), 'sse'],
  ])('%s', (_client, value, transport) => {
    expect(read(value)).toMatchObject({ server: { runs: 'elsewhere', transport, headers: [] }, warnings: [] });
  });

  it('keeps the values of headers for a Secret', () => {
    const headers = { Authorization: 'Bearer ${input:key}', 'X-Key': '${env:KEY}', 'X-Team': 'a' };
    expect(remoteOf({ url: 'https://a.example/mcp', headers }).headers).toEqual([
      { name: 'Authorization', missing: 'Bearer ${input:key}' },
      { name: 'X-Key', missing: '${env:KEY}' },
      { name: 'X-Team', value: 'a' },
    ]);
  });

  it('of Codex has headers in three members', () => {
    const value = {
      url: 'https://a.example/mcp',
      bearer_token_env_var: 'TOKEN',
      http_headers: { 'X-Team': 'a' },
      env_http_headers: { 'X-Key': 'KEY' },
    };
    expect(remoteOf(value).headers).toEqual([
      { name: 'X-Team', value: 'a' },
      { name: 'X-Key', missing: '${env:KEY}' },
      { name: 'Authorization', missing: 'Bearer ${env:TOKEN}' },
    ]);
  });

  it('of mcp-remote takes headers from its env', () => {
    const args = ['mcp-remote', 'https://a.example/mcp', '--header', 'Authorization:${AUTH}', '--header', 'X-A: ${B}'];
    expect(remoteOf({ command: 'npx', args, env: { AUTH: 'Bearer abc' } }).headers).toEqual([
      { name: 'Authorization', value: 'Bearer abc' },
      { name: 'X-A', missing: '${B}' },
    ]);
    const [header] = remoteOf({ command: 'npx', args, env: { AUTH: 'Bearer ${env:TOKEN}' } }).headers;
    expect(header).toEqual({ name: 'Authorization', missing: '${AUTH}' });
  });

  it('leaves out headers of the protocol', () => {
    const { server, warnings } = read({ url: 'https://a.example/mcp', headers: { Accept: '*/*', Cookie: 'a=b' } });
    expect((server as RemoteSpec).headers).toEqual([]);
    expect(warnings).toEqual(['"Accept", "Cookie" cannot be set as a header and is left out']);
  });

  it.each([
    ['https://a.example/mcp?api_key=sk-123', 'looks like it contains a secret, which stays readable'],
    ['https://a.example/s/OWI1ZjM2YzktNGQ4ZS00YjE1LWI2MjYt/mcp', 'looks like it contains a secret'],
    ['http://a.example/mcp', 'is http'],
  ])('%s warns: %s', (url, warning) => {
    expect(read({ url }).warnings).toEqual([expect.stringContaining(warning)]);
  });

  it.each([
    [command('npx mcp-remote https://a.example --header secret@x'), 'a header of mcp-remote has no colon'],
    [{ url: 'http://localhost:4483/sse' }, 'it is vmcp itself'],
    [{ url: 'ftp://a.example' }, 'not an http or https URL'],
    [{ url: 'a.example' }, 'not an http or https URL'],
    [{ url: 'https://me:secret@a.example/' }, 'contains a user name or password'],
    [{ url: 'https://${input:host}/mcp' }, '${input:host}'],
    [{ url: 'https://a.example/mcp#x' }, 'its URL has a fragment'],
    [{ url: 'https://a.example', type: 'ws' }, 'no transport "ws"'],
    [{ url: 'https://a.example', headers: { A: {} } }, 'its headers are not texts'],
    [command('npx mcp-remote https://a.example --odd'), 'an option of mcp-remote'],
  ])('leaves out %j', (value, reason) => {
    expect(reasonOf(value)).toContain(reason);
    expect(reasonOf(value)).not.toContain('secret@');
  });
});

it.each([
  [{ ...command('npx x'), disabled: true }, 'it is disabled'],
  [{ ...command('npx x'), enabled: false }, 'it is disabled'],
  [{ ...command('npx x'), isActive: false }, 'it is disabled'],
  [{}, 'it has neither a command nor a url'],
  [null, 'it is not an object'],
  ['npx', 'it is not an object'],
  [{ command: 5 }, 'its command or args are not texts'],
  [{ command: 'npx', args: 'x' }, 'its command or args are not texts'],
  [{ command: 'npx', args: [1] }, 'its command or args are not texts'],
  [{ command: 'npx', args: ['x'], env: { A: [] } }, 'its env values are not texts'],
  [{ command: 'npx', args: ['x'], env: ['A=b'] }, 'its env values are not texts'],
  [{ command: 'npx', args: ['x'], env_vars: [1] }, 'its env values are not texts'],
  [{ url: 'https://a.example', bearer_token_env_var: 1 }, 'its headers are not texts'],
  [{ command: 'npx', args: ['x'], env: { 'A B': 'c' } }, '"A B" cannot name an environment variable'],
])('leaves out %j', (value, reason) => {
  expect(reasonOf(value)).toBe(reason);
});
