import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { testScope } from '../../../e2e/harness/scope.ts';
import { MAX_CLIENT_FILE_BYTES } from '../../source/clients/client-file.ts';
import type { NewServer } from '../../source/edit/new-server.ts';
import { identityOf } from '../../../gateway/workloads/runner/process/process-lock.ts';
import { ownCommandLine } from '../own-command.ts';
import { validate } from '../validate/validate.ts';
import { add } from './add.ts';
import type { ServerHost } from './folder.ts';
import { importClients } from './import.ts';
import { init } from './init.ts';
import { remove } from './remove.ts';

let home: string;
/** Folder of resources; does not exist at first. */
let dir: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'vmcp-edit-'));
  dir = join(home, 'vmcp');
  testScope().defer(() => rm(home, { recursive: true, force: true }));
});

/** Renders paths relative to the home folder, and the command of this checkout as "vmcp". */
const shortened = (text: string): string =>
  text.replaceAll(ownCommandLine(), 'vmcp').replaceAll(`${home}/`, '').replaceAll(/ {2,}/gu, '  ');

/** Machine with every program that servers need. */
const PROGRAMS = { find: () => '/usr/bin/program', succeeds: async () => true, respondingEngine: async () => 'docker' };

/** Runs a command and returns what it printed, with short paths and two spaces between columns. */
async function run(command: (host: ServerHost) => Promise<number>, machine: Partial<ServerHost> = {}) {
  const output = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => (output[name] += shortened(text)),
  });
  const code = await command({
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: {},
    programs: PROGRAMS,
    ...machine,
  });
  return { code, ...output };
}

const importText = async (
  text: string | Buffer,
  options: { name?: string; output?: 'json' } = {},
  machine: Partial<ServerHost> = {},
) => {
  await writeFile(join(home, 'client.json'), text);
  return run((io) => importClients([join(home, 'client.json')], { dir, ...options }, io), machine);
};
const importServers = (servers: unknown, machine: Partial<ServerHost> = {}) =>
  importText(JSON.stringify({ mcpServers: servers }), {}, machine);
const SERVER = { args: [], env: [], secrets: [], headers: [], transport: undefined };
const addServer = (name: string, source: string, more: Partial<NewServer> = {}, group?: string) => {
  const server = { ...SERVER, source, ...more };
  return run((io) => add(name, server, { dir, ...(group !== undefined && { group }) }, io));
};
const removeServer = (name: string) => run((io) => remove(name, { dir }, io));
const initFolder = () => run((io) => init(dir, {}, io));
const validateFolder = () => run((io) => validate([dir], {}, io));
const read = (file: string) => readFile(join(dir, file), 'utf8');
const write = async (file: string, text: string) => {
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, file), text);
};

const MEMORY = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] };

describe('vmcp import', () => {
  it('writes a folder that vmcp validate accepts', async () => {
    const { code, stdout, stderr } = await importServers({
      Memory: { ...MEMORY, env: { MEMORY_FILE_PATH: '/tmp/memory.jsonl' } },
      remote: { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer t' } },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'renamed "Memory" to memory\n' });
    expect(stdout).toBe(`CHANGE  FILE  OBJECTS
created  vmcp/gateway.yaml  MCPGroup/vmcp, VirtualMCPServer/vmcp
created  vmcp/memory.yaml  MCPServer/memory
created  vmcp/remote.yaml  MCPServerEntry/remote
created  vmcp/secrets.yaml  Secret/memory, Secret/remote

Next:  vmcp up vmcp
`);
    expect((await stat(join(dir, 'secrets.yaml'))).mode & 0o777).toBe(0o600);
    expect(await validateFolder()).toEqual({ code: 0, stdout: 'ok: 1 VirtualMCPServer, 2 backends\n', stderr: '' });
  });

  it('names what the user must fill in, what it left out, and warnings', async () => {
    const { code, stderr } = await importServers({
      github: { ...MEMORY, env: { GITHUB_TOKEN: '${input:github_token}' } },
      off: { ...MEMORY, disabled: true },
      local: { command: 'node', args: ['/home/me/server.js'] },
      keyed: { ...MEMORY, args: [...MEMORY.args, '--api-key=sk-very-secret'] },
    });
    expect(code).toBe(0);
    expect(stderr).toBe(`left out "off": it is disabled
warning: keyed: argument 1 (--api-key) looks like a secret and stays readable, because an argument cannot come from a Secret: use an environment variable if the server reads one
fill in vmcp/secrets.yaml: github/GITHUB_TOKEN (\${input:github_token})
`);
    const { stdout } = await validateFolder();
    expect(stdout).toMatch(/^vmcp\/github\.yaml:\d+: MCPServer\/github: .* \[SecretKeyNotFound\]\n$/u);
  });

  it('names the variables of the client that are not set here', async () => {
    const servers = { github: { ...MEMORY, env: { GITHUB_TOKEN: '${env:GH_TOKEN}' } } };
    const { code, stderr } = await importServers(servers);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^vmcp\/github\.yaml:\d+: .*: the variable GH_TOKEN is set neither .* nor in vmcp\/\.env: .*\n$/u,
      ) as unknown,
    });
    expect(await readdir(dir)).toEqual(['gateway.yaml', 'github.yaml']);
    const added = await run((host) => add('a', { ...SERVER, source: 'npx://x' }, { dir }, host), {
      env: { GH_TOKEN: 'canary' },
    });
    expect(added).toMatchObject({ code: 0, stderr: '' });
  });

  it('names the programs that are missing on this machine, and the servers that need them', async () => {
    const container = { command: 'docker', args: ['run', '-i', 'mcp/fetch'] };
    const uvx = { command: 'uvx', args: ['mcp-server-time'] };
    const programs = { ...PROGRAMS, find: () => undefined, respondingEngine: async () => undefined };
    const servers = { memory: MEMORY, fetch: container, time: uvx, puppeteer: container };
    const { code, stderr } = await importServers(servers, { programs });
    expect({ code, lines: stderr.split('\n').map((line) => line.replace(/,? so .*?: /u, ' ... ')) }).toEqual({
      code: 0,
      lines: [
        'warning: memory: npm is not on PATH ... install Node.js with npm (check again: vmcp doctor)',
        'warning: fetch, puppeteer: neither docker nor podman responds ... start one of them (check again: vmcp doctor)',
        'warning: time: neither uv nor python3 is on PATH ... install uv (https://docs.astral.sh/uv), or python3 with its venv module (check again: vmcp doctor)',
        '',
      ],
    });
    const added = await run((host) => add('x', { ...SERVER, source: 'mcp/x' }, { dir }, host), { programs });
    expect(added).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: x: neither docker /u) as unknown });
  });

  it('prints JSON with -o json', async () => {
    const { stdout } = await importText('{"servers": {"A b": {"command": "npx", "args": ["x"]}}}', { output: 'json' });
    expect(JSON.parse(stdout)).toMatchObject({
      changes: [
        { change: 'created', objects: ['MCPGroup/vmcp', 'VirtualMCPServer/vmcp'] },
        { objects: ['MCPServer/a-b'] },
      ],
      servers: [{ name: 'a-b', original: 'A b', warnings: [] }],
      leftOut: [],
      missing: [],
    });
  });

  it('uses --name for the endpoint and its group', async () => {
    await importText('{"servers": {"a": {"command": "npx", "args": ["x"]}}}', { name: 'desk' });
    expect(await read('a.yaml')).toContain('groupRef:\n    name: desk\n');
    const wrong = await importText('{"servers": {"a": {"command": "npx", "args": ["x"]}}}', { name: 'My Desk' });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('as in my-desk\n') });
  });

  it('overwrites nothing', async () => {
    await write('memory.yaml', '# mine\n');
    const { code, stderr } = await importServers({ memory: MEMORY });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'vmcp/memory.yaml exists: choose another folder with --dir\n',
    });
    expect(await readdir(dir)).toEqual(['memory.yaml']);
    expect(await read('memory.yaml')).toBe('# mine\n');
  });

  it('puts the servers of several files into one folder, and says so when a second import finds the first', async () => {
    const [one, two] = ['one.json', 'two.json'].map((name) => join(home, name)) as [string, string];
    const other = { command: 'uvx', args: ['mcp-server-time'] };
    await writeFile(one, JSON.stringify({ mcpServers: { memory: MEMORY, time: other } }));
    await writeFile(
      two,
      JSON.stringify({ servers: { memory: MEMORY, time: { url: 'https://time.example.com/mcp' } } }),
    );
    expect(await run((io) => importClients([one, two], { dir }, io))).toMatchObject({
      code: 0,
      stderr: 'renamed "time" to time-2\n',
    });
    expect(await readdir(dir)).toEqual(['gateway.yaml', 'memory.yaml', 'time-2.yaml', 'time.yaml']);
    expect(await run((io) => importClients([two], { dir }, io))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /gateway\.yaml, .* exist: .*, or name the files of all your clients in one import\n$/u,
      ) as unknown,
    });
    await writeFile(two, '{');
    expect(await run((io) => importClients([one, two], { dir: join(home, 'new') }, io))).toMatchObject({
      code: 2,
      stdout: '',
    });
    expect(await readdir(home)).not.toContain('new');
  });

  it.each<[string, string | Buffer, string]>([
    ['an empty file', '', 'client.json: the file is empty\n'],
    ['no JSON', '{\n"mcpServers": oops}', 'client.json:2: this is not JSON: a text is not in double quotes\n'],
    ['UTF-16', Buffer.from('\uFEFF{}', 'utf16le'), 'client.json: not UTF-8 text: save the file as UTF-8\n'],
    [
      'a server twice',
      '{"mcpServers": {"a": {},\n"a": {}}}',
      'client.json:2: duplicate key "a", first used in line 1: keep one of them\n',
    ],
    [
      'only servers that cannot run',
      '{"mcpServers": {"a": {"command": "C:\\\\tools\\\\a.exe"}}}',
      `left out "a": its command "C:\\tools\\a.exe" is not npx, uvx or docker: publish the server as a package or an image, or start it yourself and add its URL
nothing was written: vmcp cannot run any server of client.json
`,
    ],
  ])('refuses %s and writes nothing', async (_what, text, stderr) => {
    expect(await importText(text)).toEqual({ code: 2, stdout: '', stderr });
    expect(await readdir(home)).toEqual(['client.json']);
  });

  it('refuses a file of more than 100 MiB', async () => {
    const file = join(home, 'client.json');
    await writeFile(file, '');
    await truncate(file, MAX_CLIENT_FILE_BYTES + 1);
    expect(await run((io) => importClients([file], { dir }, io))).toEqual({
      code: 2,
      stdout: '',
      stderr: 'client.json: larger than 100 MiB: split it into several files\n',
    });
  });

  it('reads the servers of all projects in a large file of Claude Code', async () => {
    const history = Array.from({ length: 20_000 }, (_, index) => ({ display: 'x'.repeat(80), index }));
    const servers = { memory: MEMORY, local: { type: 'stdio', command: 'node', args: ['server.js'], env: {} } };
    const text = JSON.stringify({
      numStartups: 5,
      projects: {
        '/home/me/one': { history, mcpServers: { memory: MEMORY, off: MEMORY }, disabledMcpServers: ['off'] },
        '/home/me/two': { allowedTools: [], mcpServers: servers },
        '/home/me/three': { mcpServers: {} },
      },
    });
    expect(text.length).toBeGreaterThan(1024 * 1024);
    const { code, stdout, stderr } = await importText(text);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'created  vmcp/memory.yaml  MCPServer/memory\ncreated  vmcp/local.yaml  MCPServer/local\n',
    );
    expect(stderr.split('\n').slice(0, 3)).toEqual([
      'left out "off": it is disabled in the project /home/me/one',
      'warning: memory: Claude Code has it in the project /home/me/one only: every client of vmcp gets it',
      'warning: local: Claude Code has it in the project /home/me/two only: every client of vmcp gets it',
    ]);
    expect(await read('local.yaml')).toContain('workingDir: /home/me/two');
  });

  it.each([
    ['a missing file', 'absent.json', 'absent.json: no such file: correct the path'],
    ['a folder', '.', 'cannot be read (EISDIR)'],
  ])('refuses %s', async (_what, file, message) => {
    const { code, stderr } = await run((io) => importClients([join(home, file)], { dir }, io));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });

  it('exits with 1 when it cannot write', async () => {
    dir = join(home, 'client.json', 'vmcp');
    const { code, stderr } = await importServers({ memory: MEMORY });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^client\.json\/vmcp\/gateway\.yaml cannot be written \(\w+\): make it and its folder writable/u,
    );
  });

  it('accepts a file with a byte order mark', async () => {
    expect((await importText(`\uFEFF{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}`)).code).toBe(0);
  });
});

describe('vmcp init', () => {
  it('writes a folder that vmcp validate accepts', async () => {
    expect(await initFolder()).toEqual({
      code: 0,
      stdout: `CHANGE  FILE  OBJECTS
created  vmcp/gateway.yaml  MCPGroup/vmcp, VirtualMCPServer/vmcp
created  vmcp/everything.yaml  MCPServer/everything

Next:  vmcp up vmcp
`,
      stderr: '',
    });
    expect((await validateFolder()).stdout).toBe('ok: 1 VirtualMCPServer, 1 backend\n');
  });

  it('uses the name of the folder', async () => {
    dir = join(home, 'My Servers');
    const { stdout } = await initFolder();
    expect(stdout).toContain('VirtualMCPServer/my-servers');
    expect(stdout).toContain("Next:  vmcp up 'My Servers'\n");
  });

  it('refuses a folder with resources', async () => {
    await write('mine.yml', '# mine\n');
    expect(await initFolder()).toEqual({
      code: 2,
      stdout: '',
      stderr: `vmcp/mine.yml exists: choose an empty folder, or add a server with vmcp add NAME SOURCE --dir vmcp\n`,
    });
  });

  it('exits with 1 when it cannot write', async () => {
    await writeFile(join(home, 'file.txt'), '');
    dir = join(home, 'file.txt', 'vmcp');
    expect(await initFolder()).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be written') });
  });
});

describe('vmcp add', () => {
  it('adds a server and its Secret', async () => {
    await initFolder();
    const env = ['TZ=UTC', 'API_KEY=sk-1'];
    expect(await addServer('time', 'uvx://mcp-server-time', { args: ['--fast'], env })).toEqual({
      code: 0,
      stdout: `CHANGE  FILE  OBJECTS
created  vmcp/time.yaml  MCPServer/time
created  vmcp/secrets.yaml  Secret/time

Next:  vmcp up vmcp
`,
      stderr: '',
    });
    expect(await read('time.yaml')).not.toContain('sk-1');
    expect((await stat(join(dir, 'secrets.yaml'))).mode & 0o777).toBe(0o600);
    const secrets = await read('secrets.yaml');
    await addServer('remote', 'https://mcp.example.com/sse', { headers: ['Authorization=Bearer t'] });
    expect((await read('secrets.yaml')).startsWith(`${secrets}---\n`)).toBe(true);
    expect((await validateFolder()).stdout).toBe('ok: 1 VirtualMCPServer, 3 backends\n');
  });

  it('refuses a name that exists, with its place', async () => {
    await initFolder();
    expect(await addServer('everything', 'npx://x')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'vmcp/everything.yaml:7: MCPServer "everything" exists: choose another name, or remove it first\n',
    });
  });

  it('refuses a folder without a group', async () => {
    const expected = { code: 2, stdout: '', stderr: `vmcp has no MCPGroup: vmcp init vmcp creates one\n` };
    expect(await addServer('a', 'npx://x')).toEqual(expected);
    await write('empty.yaml', '# nothing\n');
    expect(await addServer('a', 'npx://x')).toEqual(expected);
  });

  it('uses --group when there are several', async () => {
    const group = (name: string) =>
      `apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: ${name}, namespace: team}\nspec: {}\n`;
    await write('groups.yaml', `${group('a')}---\n${group('b')}`);
    expect((await addServer('x', 'npx://x')).stderr).toBe(`vmcp has several groups: choose one of a, b with --group\n`);
    expect((await addServer('x', 'npx://x', {}, 'c')).stderr).toBe(`vmcp has no MCPGroup "c": it has a, b\n`);
    expect((await addServer('x', 'npx://x', {}, 'b')).code).toBe(0);
    expect(await read('x.yaml')).toContain('  name: x\n  namespace: team\nspec:\n  groupRef:\n    name: b\n');
  });

  it('refuses a folder with a broken file, and writes nothing', async () => {
    await initFolder();
    await write('broken.yaml', 'a: [\n');
    const { code, stderr } = await addServer('x', 'npx://x');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^vmcp\/broken\.yaml:\d+: Document\/1: .* \[InvalidYAML\]\n$/u);
    expect(await readdir(dir)).toEqual(['broken.yaml', 'everything.yaml', 'gateway.yaml']);
  });

  it.each([
    ['My Server', 'npx://x', '"My Server" is not a name: use lowercase letters, digits and "-", as in my-server\n'],
    ['a', '/usr/bin/x', expect.stringContaining('"/usr/bin/x" is not a server')],
  ])('refuses %s %s', async (name, source, stderr) => {
    await initFolder();
    expect(await addServer(name, source)).toEqual({ code: 2, stdout: '', stderr });
  });

  it('refuses a variable with an invalid name, and writes nothing', async () => {
    await initFolder();
    const { code, stderr } = await addServer('a', 'npx://x', { env: ['A B=c'] });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^spec\.env\[0\]\.name: /u) });
    expect(await readdir(dir)).toEqual(['everything.yaml', 'gateway.yaml']);
  });

  it('overwrites no file and no Secret of the same name', async () => {
    await initFolder();
    await write('a.yaml', 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {K: v}\n');
    const { stdout } = await addServer('a', 'npx://x', { secrets: ['K=w'] });
    expect(stdout).toContain('created  vmcp/a-2.yaml ');
    expect(stdout).toContain('Secret/a-2\n');
    expect(await read('a.yaml')).toContain('{K: v}');
  });

  it('keeps a symbolic link to the Secrets', async () => {
    await initFolder();
    await writeFile(join(home, 'kept.yaml'), '# kept\n', { mode: 0o640 });
    await symlink('../kept.yaml', join(dir, 'secrets.yaml'));
    const { stderr } = await addServer('a', 'npx://x', { secrets: ['K=v'] });
    expect(stderr).toBe('warning: other users can read vmcp/secrets.yaml: chmod 600 vmcp/secrets.yaml\n');
    expect(await readFile(join(home, 'kept.yaml'), 'utf8')).toMatch(/^# kept\n---\n/u);
    expect((await stat(join(home, 'kept.yaml'))).mode & 0o777).toBe(0o640);
  });
});

describe('vmcp remove', () => {
  it('deletes a file that becomes empty', async () => {
    await initFolder();
    expect(await removeServer('everything')).toEqual({
      code: 0,
      stdout: `CHANGE  FILE  OBJECTS
deleted  vmcp/everything.yaml  MCPServer/everything

Next:  vmcp up vmcp
`,
      stderr: expect.stringMatching(/ has no members: .* \[GroupEmpty\] \(warning\)\n$/u),
    });
    expect(await readdir(dir)).toEqual(['gateway.yaml']);
  });

  it('restores the bytes that add has changed', async () => {
    await initFolder();
    const before = await read('gateway.yaml');
    await addServer('a', 'npx://x');
    const text = `${before}---\n${(await read('a.yaml')).replace('name: a\n', 'name: b\n')}`;
    await write('gateway.yaml', text);
    expect((await removeServer('b')).stdout).toContain('changed  vmcp/gateway.yaml  MCPServer/b\n');
    expect(await read('gateway.yaml')).toBe(before);
  });

  it('names what still refers to the server, and removes its Secret', async () => {
    await initFolder();
    await addServer('a', 'npx://x', { secrets: ['K=v'] });
    await write(
      'gateway.yaml',
      `${await read('gateway.yaml')}  outgoingAuth:\n    backends:\n      a: { type: discovered }\n`,
    );
    const { code, stdout, stderr } = await removeServer('a');
    expect(code).toBe(0);
    expect(stderr).toMatch(/gateway\.yaml:\d+: VirtualMCPServer\/vmcp: spec\.outgoingAuth\.backends\.a: .*\n/u);
    expect(stderr).not.toContain('Secret');
    expect(stdout).toContain('deleted  vmcp/secrets.yaml  Secret/a\n');
    expect(await readdir(dir)).toEqual(['everything.yaml', 'gateway.yaml']);
  });

  it('keeps Secrets that other servers use', async () => {
    await initFolder();
    await addServer('a', 'npx://x', { secrets: ['K=v'] });
    await addServer('b', 'npx://x', { secrets: ['K=v'] });
    await write('c.yaml', (await read('a.yaml')).replace('name: a\n', 'name: c\n'));
    expect((await removeServer('a')).stdout).not.toContain('Secret');
    expect((await removeServer('b')).stdout).toContain('changed  vmcp/secrets.yaml  Secret/b\n');
    expect(await read('secrets.yaml')).toContain('name: a\n');
    expect((await removeServer('c')).stdout).toContain('deleted  vmcp/secrets.yaml  Secret/a\n');
  });

  it('keeps a Secret whose name is only a word of the server, or that an object without spec names', async () => {
    await initFolder();
    await addServer('a', 'npx://x', { args: ['--stage', 'production'], secrets: ['K=v'] });
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: production }\nstringData: { KEY: v }\n';
    const account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: s }\nsecrets: [{ name: a }]\n';
    await write('more.yaml', `${secret}---\n${account}`);
    expect((await removeServer('a')).stdout).not.toContain('Secret');
    expect(await read('secrets.yaml')).toContain('name: a\n');
  });

  it('knows that vmcp up --watch applies the change', async () => {
    await initFolder();
    const state = join(home, 'state', 'vmcp');
    await mkdir(state, { recursive: true });
    const record = { ...identityOf(process.pid), managementUrl: 'http://127.0.0.1:1', servers: [], watched: [dir] };
    await writeFile(join(state, 'running.json'), JSON.stringify(record));
    const env = { XDG_STATE_HOME: join(home, 'state') };
    const { stdout } = await run((io) => remove('everything', { dir }, io), { env });
    expect(stdout).toContain('vmcp up --watch follows this folder and applies the change.\nNext:  vmcp status\n');
  });

  it('names similar servers', async () => {
    await initFolder();
    expect((await removeServer('everythin')).stderr).toBe('vmcp has no server "everythin": did you mean everything?\n');
    expect((await removeServer('x')).stderr).toBe(`vmcp has no server "x": it has everything\n`);
    expect((await removeServer('vmcp')).code).toBe(2);
  });

  it('refuses an item of a List', async () => {
    const item = 'apiVersion: vmcp.dev/v1alpha1, kind: MCPServer, metadata: {name: a}, spec: {image: npx://x}';
    await write('list.yaml', `apiVersion: v1\nkind: List\nitems:\n  - {${item}}\n`);
    expect((await removeServer('a')).stderr).toBe('vmcp/list.yaml:4: it is an item of a List: remove it by hand\n');
  });
});
