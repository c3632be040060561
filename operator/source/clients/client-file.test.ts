import { describe, expect, it } from 'vitest';
import { isClientFile, readClientFile } from './client-file.ts';

const SERVERS = '{"memory": {"command": "npx"}, "time": {"command": "uvx"}}';

describe('readClientFile', () => {
  it.each([
    ['Claude Desktop, Claude Code, Cursor, Windsurf, Cline', `{"globalShortcut": "", "mcpServers": ${SERVERS}}`],
    ['.vscode/mcp.json', `{"inputs": [{"type": "promptString", "id": "key"}], "servers": ${SERVERS}}`],
    ['the settings of VS Code', `{"editor.fontSize": 12, "mcp": {"inputs": [], "servers": ${SERVERS}}}`],
    ['the flat settings of VS Code', `{"mcp.servers": ${SERVERS}}`],
    ['Zed', `{"theme": "One", "context_servers": ${SERVERS}}`],
    ['Codex', 'model = "x"\n[mcp_servers.memory]\ncommand = "npx" # one\n[mcp_servers.time]\ncommand = "uvx"\n'],
    ['Codex with keys in one line', 'mcp_servers.memory.command = "npx"\nmcp_servers.time = { command = "uvx" }'],
    ['comments and trailing commas', `// mine\n{"mcpServers": /* all */ ${SERVERS.slice(0, -1)},},}`],
  ])('finds the servers of %s', (_client, text) => {
    expect(readClientFile(text)).toEqual({
      entries: [
        { name: 'memory', value: { command: 'npx' } },
        { name: 'time', value: { command: 'uvx' } },
      ],
    });
    expect(isClientFile(text)).toBe(true);
  });

  it.each([
    ['an empty file', ' \n', undefined, 'the file is empty'],
    ['no JSON', 'hello', 1, 'this is not JSON: a text is not in double quotes'],
    ['a missing comma', '{\n"mcpServers": {\n"a": {}\n"b": {} } }', 4, 'a comma is missing before this place'],
    ['half a file', '{"mcpServers": {\n"a": {}', 2, 'a "}" is missing'],
    ['a Windows path with single backslashes', '{"mcpServers": {"a": {"command": "C:\\Users"}}}', 1, 'written twice'],
    ['a list', '[]', undefined, 'there are no servers'],
    ['text', '"mcpServers"', undefined, 'there are no servers'],
    ['no servers', '{"theme": "dark"}', undefined, 'there are no servers'],
    ['servers in a list', '{"mcpServers": []}', undefined, 'there are no servers'],
    ['an empty list of servers', '{"mcpServers": {}}', undefined, 'its list of servers is empty'],
    [
      'TOML with a mistake',
      'model = "x"\n[mcp_servers.docs]\nargs = ["ghp_secret',
      3,
      'this is not TOML: check quotes',
    ],
    ['TOML with a server twice', '[mcp_servers.a]\nurl = "x"\n[mcp_servers.a]\nurl = "y"', 3, 'no key is used twice'],
    [
      'TOML without servers',
      'model = "x"\n[tools]\nweb_search = true',
      undefined,
      'Codex lists them in [mcp_servers.NAME]',
    ],
    ['TOML without a server', 'mcp_servers = {}', undefined, 'its table mcp_servers has no server'],
    ['100,000 brackets', '['.repeat(100_000), undefined, 'nested too deeply'],
    ['a server twice', '{"mcpServers": {"a": {},\n"b": {},\n"a": {}}}', 3, '"a", first used in line 1'],
    ['a key twice', '{"mcpServers": {"a": {"env": {"K": "1",\n"K": "2"}}}}', 2, '"K", first used in line 1'],
  ])('refuses %s', (_what, text, line, message) => {
    expect(readClientFile(text)).toEqual({
      fault: { ...(line !== undefined && { line }), message: expect.stringContaining(message) as unknown },
    });
  });

  it('allows duplicate keys elsewhere in the settings of an editor', () => {
    expect(readClientFile(`{"a": 1, "a": 2, "servers": ${SERVERS}}`)).toHaveProperty('entries');
  });

  it('quotes no value in its messages', () => {
    for (const text of ['{"mcpServers": {"a": {"env": {"K": ghp_secret}}}}', '[mcp_servers.a.env]\nK = ghp_secret'])
      expect(JSON.stringify(readClientFile(text))).not.toContain('ghp_');
  });
});

describe('isClientFile', () => {
  it.each([
    '{"mcpServers": {}}',
    '{"mcpServers": {"a": {}, "a": {}}}',
    '// c\n{"servers": {"a": {"command": "x" }',
    '[mcp_servers.a]\n=',
    'extensions:\n  a: {type: stdio, cmd: npx}\n',
  ])('recognises %s', (text) => {
    expect(isClientFile(text)).toBe(true);
  });

  it.each(['', 'kind: MCPGroup', '{"kind": "MCPGroup"}', '[]', '['.repeat(100_000)])(
    'does not recognise %.20s',
    (text) => {
      expect(isClientFile(text)).toBe(false);
    },
  );
});
