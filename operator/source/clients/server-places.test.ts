import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { CLIENTS } from '../../../gateway/management/clients/clients.ts';
import { snippet } from '../../../gateway/management/clients/register.ts';
import { readClientFile } from './client-file.ts';
import { importedServers } from './imported-servers.ts';

const importOf = (text: string) => {
  const file = readClientFile(text);
  if ('fault' in file) throw new Error(file.fault.message);
  return importedServers(file.entries);
};
const specsOf = (text: string) =>
  Object.fromEntries(
    importOf(text).servers.map(({ name, spec, rules, warnings }) => [name, { spec, rules, warnings }]),
  );
const json = (value: unknown) => specsOf(JSON.stringify(value));
const NPX = { runs: 'here', image: 'npx://x', transport: 'stdio', args: [], env: [], secrets: [] };

describe('what vmcp connect writes', () => {
  it.each(CLIENTS.map((client) => ({ client, type: client.type })))(
    'vmcp import reads from the file of $type',
    ({ client }) => {
      const text = snippet(client, { name: 'tools', url: 'https://tools.example/mcp' });
      const { servers, leftOut } = importOf(text);
      expect(leftOut).toEqual([]);
      expect(servers).toMatchObject([
        { name: 'tools', spec: { url: 'https://tools.example/mcp', transport: 'streamable-http' }, warnings: [] },
      ]);
    },
  );
});

describe('servers of opencode', () => {
  const servers = {
    here: {
      type: 'local',
      command: ['npx', '-y', 'x'],
      environment: { KEY: '{env:TOKEN}' },
      enabled: true,
      timeout: 10_000,
    },
    there: { type: 'remote', url: 'https://a.example/mcp', headers: { 'X-Key': '{env:KEY}' }, oauth: false },
    off: { type: 'local', command: ['npx', 'x'], enabled: false },
    override: { enabled: true },
  };

  it.each([
    ['version 1', { $schema: 'https://opencode.ai/config.json', mcp: servers }],
    [
      'version 2',
      { mcp: { timeout: { startup: 8000 }, servers: { ...servers, off: { ...servers.off, disabled: true } } } },
    ],
  ])('%s', (_version, file) => {
    expect(json(file)).toEqual({
      here: { spec: { ...NPX, env: [{ name: 'KEY', fromEnv: 'TOKEN' }] }, rules: { timeoutMs: 10_000 }, warnings: [] },
      there: {
        spec: {
          runs: 'elsewhere',
          url: 'https://a.example/mcp',
          transport: 'streamable-http',
          headers: [{ name: 'X-Key', missing: '{env:KEY}' }],
        },
        warnings: [],
      },
    });
    expect(importOf(JSON.stringify(file)).leftOut).toEqual([
      { original: 'off', reason: 'it is disabled' },
      { original: 'override', reason: 'it has neither a command nor a url' },
    ]);
  });

  it('have a timeout for all in version 2', () => {
    const file = {
      mcp: { timeout: { request: 70_000 }, servers: { a: servers.override, b: { command: ['npx', 'x'] } } },
    };
    expect(json(file)).toEqual({ b: { spec: NPX, rules: { timeoutMs: 70_000 }, warnings: [] } });
  });

  it('have switches of tools elsewhere in the file', () => {
    const { here } = json({ mcp: servers, tools: { bash: false, 'here_drop*': false, here_read: true } });
    expect(here?.warnings).toEqual([expect.stringMatching(/^its disabledTools is left out: .*visible: drop\*$/u)]);
  });
});

it('servers of Goose keep their timeout in seconds, their tools and their keys', () => {
  const text = stringify({
    GOOSE_MODE: 'smart_approve',
    extensions: {
      developer: { type: 'builtin', name: 'developer', bundled: true, enabled: true, timeout: 300 },
      here: {
        type: 'stdio',
        name: 'here',
        enabled: true,
        cmd: 'npx',
        args: ['-y', 'x'],
        envs: { A: 'b' },
        env_keys: ['KEY'],
        timeout: 300,
        available_tools: ['read'],
      },
      there: {
        type: 'streamable_http',
        name: 'there',
        enabled: true,
        uri: 'https://a.example/mcp',
        headers: { 'X-Key': '$KEY' },
        env_keys: [],
        envs: {},
        available_tools: [],
        description: '',
      },
      off: { type: 'stdio', cmd: 'npx', args: ['x'], enabled: false },
    },
  });
  expect(specsOf(text)).toEqual({
    here: {
      spec: {
        ...NPX,
        secrets: [
          { name: 'KEY', missing: '${keyring:KEY}' },
          { name: 'A', value: 'b' },
        ],
      },
      rules: { timeoutMs: 300_000, tools: ['read'] },
      warnings: [],
    },
    there: {
      spec: {
        runs: 'elsewhere',
        url: 'https://a.example/mcp',
        transport: 'streamable-http',
        headers: [{ name: 'X-Key', missing: '$KEY' }],
      },
      warnings: [],
    },
  });
  expect(importOf(text).leftOut).toEqual([
    { original: 'developer', reason: 'it is a part of Goose itself' },
    { original: 'off', reason: 'it is disabled' },
  ]);
});

it('servers of Continue have their name in a list, in YAML and in JSON', () => {
  const yaml = [
    ...['name: My assistant', 'version: 1.0.0', 'schema: v1', 'mcpServers:'],
    ...['  - name: My Notes', '    command: npx', '    args: [-y, x]', '    env:', '      KEY: ${{ secrets.KEY }}'],
    ...[
      '    connectionTimeout: 60000',
      '  - name: there',
      '    type: streamable-http',
      '    url: https://a.example/mcp',
    ],
    ...['    apiKey: ${{ secrets.API }}', '    requestOptions: {headers: {X-Team: a}, verifySsl: false}'],
    '  - uses: acme/block',
  ].join('\n');
  const read = specsOf(yaml);
  expect(read).toMatchObject({
    'my-notes': {
      spec: { ...NPX, secrets: [{ name: 'KEY', missing: '${{ secrets.KEY }}' }] },
      rules: { timeoutMs: 60_000 },
    },
    there: {
      spec: {
        headers: [
          { name: 'X-Team', value: 'a' },
          { name: 'Authorization', missing: 'Bearer ${{ secrets.API }}' },
        ],
      },
    },
  });
  expect(read['there']?.warnings).toEqual([
    expect.stringMatching(/^Authorization contains/u),
    expect.stringMatching(/^its "requestOptions" is left out/u),
  ]);
  expect(importOf(yaml).leftOut[0]?.reason).toContain('a block of the hub of Continue');
  const headers = yaml.replace('{X-Team: a}', 'X-Team');
  expect(importOf(headers).leftOut).toContainEqual({ original: 'there', reason: expect.stringContaining('headers') });
  const transport = { type: 'stdio', command: 'npx', args: ['x'] };
  expect(json({ experimental: { modelContextProtocolServers: [{ transport }] } })).toEqual({
    server: { spec: NPX, warnings: [] },
  });
});

it('servers of Zed come from its settings or from an extension', () => {
  const text = `// Zed\n{"theme": "One", "context_servers": {
    "here": {"source": "custom", "command": "npx", "args": ["x"], "env": {}, "timeout": 120},
    "nested": {"command": {"path": "npx", "args": ["x"]}, "settings": {}},
    "extension": {"source": "extension", "enabled": true, "settings": {"a": 1}},
  },}`;
  expect(specsOf(text)).toEqual({
    here: { spec: NPX, rules: { timeoutMs: 120_000 }, warnings: [] },
    nested: { spec: NPX, warnings: [] },
  });
  const slow =
    '{"context_server_timeout": 90, "context_servers": {"a": {"command": "npx", "args": ["x"], "remote": false}}}';
  expect(specsOf(slow)).toEqual({ a: { spec: NPX, rules: { timeoutMs: 90_000 }, warnings: [] } });
  expect(importOf(text).leftOut).toEqual([
    { original: 'extension', reason: 'it comes from an extension of the editor, which alone knows its command' },
  ]);
});

it('servers of Mistral Vibe are a list in TOML', () => {
  const text =
    '[[mcp_servers]]\nname = "there"\ntransport = "http"\nurl = "https://a.example/mcp"\napi_key_env = "KEY"\napi_key_header = "X-Key"\napi_key_format = "{token}"\n\n[[mcp_servers]]\nname = "here"\ntransport = "stdio"\ncommand = "npx"\nargs = ["x"]\ntool_timeout_sec = 90\n';
  expect(specsOf(text)).toMatchObject({
    there: { spec: { headers: [{ name: 'X-Key', missing: '${env:KEY}' }] } },
    here: { spec: NPX, rules: { timeoutMs: 90_000 } },
  });
});

it.each([
  ['Amp', { 'amp.mcpServers': { a: { command: 'npx', args: ['x'] } } }],
  ['an extension of VS Code', { 'editor.tabSize': 2, 'zencoder.mcpServers': { a: { command: 'npx', args: ['x'] } } }],
  ['a dev container', { customizations: { vscode: { mcp: { servers: { a: { command: 'npx', args: ['x'] } } } } } }],
  ['a list', { mcpServers: [{ name: 'a', command: 'npx', args: ['x'] }] }],
  ['a map of servers alone', { a: { command: 'npx', args: ['x'] } }],
])('servers of %s', (_title, file) => {
  expect(json(file)).toEqual({ a: { spec: NPX, warnings: [] } });
});

it('servers may have the names of members', () => {
  const server = { command: 'npx', args: ['x'] };
  expect(Object.keys(json({ mcpServers: { url: server, command: server } }))).toEqual(['url', 'command']);
});

it('servers that Gemini CLI and Qwen Code exclude are left out', () => {
  const mcpServers = { a: { command: 'npx', args: ['x'] }, b: { command: 'npx', args: ['x'] } };
  const leftOut = (more: object) => importOf(JSON.stringify({ mcpServers, ...more })).leftOut;
  const excluded = [{ original: 'b', reason: 'it is disabled: the file excludes it' }];
  expect(leftOut({ mcp: { excluded: ['b'] } })).toEqual(excluded);
  expect(leftOut({ excludeMCPServers: ['b'] })).toEqual(excluded);
  const reason = 'it is disabled: the file allows other servers only';
  expect(leftOut({ mcp: { allowed: ['a'] } })).toEqual([{ original: 'b', reason }]);
  expect(leftOut({ mcp: { serverCommand: 'x' } })).toEqual([]);
});

it('servers in several places of one file are all read', () => {
  const file = { mcpServers: { a: { command: 'npx', args: ['x'] } }, servers: { b: { command: 'npx', args: ['x'] } } };
  expect(Object.keys(json(file))).toEqual(['a', 'b']);
});

it.each([
  ['a setting of Gemini CLI', '{"mcp": {"allowed": ["a"]}}', 'there are no servers'],
  ['an OpenAPI document', '{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}]}', 'there are no servers'],
  ['YAML without servers', 'extensions: {}', 'its list of servers is empty'],
  ['YAML with a mistake', 'extensions:\n  a: {b\n', 'this is not YAML'],
  ['a resource of vmcp', 'kind: MCPGroup\n', 'this is not JSON'],
])('%s has none', (_title, text, message) => {
  expect(readClientFile(text)).toMatchObject({ fault: { message: expect.stringContaining(message) as unknown } });
});

describe('servers of projects in the file of Claude Code', () => {
  const server = (...args: string[]) => ({ command: 'npx', args: ['x', ...args] });
  const namesOf = (file: unknown) =>
    importOf(JSON.stringify(file)).servers.map(({ name, spec }) => [name, ...(spec.runs === 'here' ? spec.args : [])]);

  it('are read beside those of the user, each once', () => {
    const file = {
      mcpServers: { a: server() },
      projects: {
        '/one': { mcpServers: { a: server(), b: server('1') } },
        '/two': { mcpServers: { b: server('2'), c: server() } },
        'C:\\three': { mcpServers: { c: server(), My: server(), my: server() } },
        '/four': {},
      },
    };
    expect(namesOf(file)).toEqual([['a'], ['b', '1'], ['b-2', '2'], ['c'], ['my-2'], ['my']]);
  });

  it('may not have a key twice', () => {
    const text = '{"projects": {"/one": {"history": [], "mcpServers": {"a": {},\n"a": {}}}}}';
    expect(readClientFile(text)).toMatchObject({ fault: { line: 2 } });
    expect(
      readClientFile('{"projects": {"/one": {"x": 1, "x": 2, "mcpServers": {"a": {"command": "x"}}}}}'),
    ).toHaveProperty('entries');
  });

  it('start in the folder of the project, unless they name another', () => {
    const mcpServers = { a: { command: './bin/a' }, b: { command: 'node', args: ['/b.js'], cwd: '/other' } };
    const { servers } = importOf(JSON.stringify({ projects: { '/home/me/app': { mcpServers } } }));
    expect(servers.map(({ spec }) => spec)).toMatchObject([
      { image: 'command:///home/me/app/bin/a', workingDir: '/home/me/app' },
      { image: 'command://node', workingDir: '/other' },
    ]);
  });
});
