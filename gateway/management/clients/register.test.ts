import { describe, expect, it } from 'vitest';
import type { McpClient } from './client.ts';
import { CLIENTS, findClient } from './clients.ts';
import { addEntry, registered, snippet, removeEntry } from './register.ts';
import { CONFIGURATIONS, randomJson } from './testdata/configurations.ts';

const ENDPOINT = { name: 'tools', url: 'http://127.0.0.1:4483/mcp' };
const OTHER = { name: 'tools', url: 'https://tools.example/mcp' };

function textOf(edit: ReturnType<typeof addEntry>): string {
  if ('problem' in edit) throw new Error(edit.problem.message);
  return edit.text;
}

const client = (type: string): McpClient => {
  const found = findClient(type);
  if (!found) throw new Error(`no client ${type}`);
  return found;
};

/** Checks that the file names the endpoint once, that a second time changes nothing, and that the removal restores it. */
function checkRoundTrip(original: string, one: McpClient): void {
  const text = textOf(addEntry(original, one, ENDPOINT));
  expect(registered(text, one).get('tools'), text).toBe(ENDPOINT.url);
  expect(text.split(ENDPOINT.url).length - original.split(ENDPOINT.url).length, text).toBe(1);
  expect(textOf(addEntry(text, one, ENDPOINT))).toBe(text);
  expect(textOf(removeEntry(text, one, ENDPOINT)), text).toBe(original);
}

describe('register and unregister', () => {
  const cases = CLIENTS.flatMap((one) =>
    CONFIGURATIONS[one.format].map((template) => [one.type, template(one.servers, one.isList === true), one] as const),
  );

  it.each(cases)('restore the file of %s byte for byte: %j', (_type, original, one) => {
    checkRoundTrip(original, one);
    if (original !== '') checkRoundTrip(original.replaceAll('\n', '\r\n'), one);
    checkRoundTrip(`\uFEFF${original}`, one);
  });

  it('restore random JSON files byte for byte', () => {
    for (let seed = 1; seed <= 600; seed += 1) checkRoundTrip(randomJson(seed), client('cursor'));
  });

  it('keep everything else of the file in its place', () => {
    const original =
      '{\n\t// mine\n\t"theme": "dark", // always\n\t"mcpServers": {\n\t\t"a": {"command": "x"} // keep\n\t},\n}\n';
    expect(textOf(addEntry(original, client('cursor'), ENDPOINT))).toBe(
      '{\n\t// mine\n\t"theme": "dark", // always\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // keep\n\t\t"tools": {\n\t\t\t"type": "http",\n\t\t\t"url": "http://127.0.0.1:4483/mcp"\n\t\t}\n\t},\n}\n',
    );
  });

  it('give a new file of Continue the members that it requires', () => {
    const one = client('continue');
    const text = textOf(addEntry('', one, ENDPOINT));
    expect(text).toMatch(/^name: .+\nversion: .+\nschema: v1\nmcpServers:\n/u);
    expect(snippet(one, ENDPOINT, true)).toBe(text);
    expect(snippet(one, ENDPOINT)).toMatch(/^mcpServers:/u);
    expect(textOf(removeEntry(text, one, ENDPOINT))).toBe('');
  });

  it('leave entries that were added later', () => {
    const one = client('cursor');
    const two = textOf(addEntry(textOf(addEntry('', one, ENDPOINT)), one, { ...OTHER, name: 'later' }));
    const rest = textOf(removeEntry(two, one, ENDPOINT));
    expect([...registered(rest, one)]).toEqual([['later', OTHER.url]]);
  });
});

describe('an entry of the same name that points elsewhere', () => {
  it.each(CLIENTS.map((one) => [one.type, one] as const))('of %s is refused unless it is forced', (_type, one) => {
    const text = textOf(addEntry('', one, OTHER));
    expect(addEntry(text, one, ENDPOINT)).toEqual({
      problem: {
        message: 'has an entry "tools" for https://tools.example/mcp: use --force to replace or remove it',
        isTaken: true,
      },
    });
    expect(removeEntry(text, one, ENDPOINT)).toHaveProperty('problem');
    expect(textOf(addEntry(text, one, ENDPOINT, { force: true }))).toBe(textOf(addEntry('', one, ENDPOINT)));
    expect(textOf(removeEntry(text, one, ENDPOINT, { force: true }))).toBe('');
    expect(textOf(removeEntry(text, one, { name: 'tools' }))).toBe('');
  });
});

describe('a file that cannot be edited', () => {
  it.each([
    ['cursor', '{\n  "a": 1\n  "b": 2\n}', 3, 'not valid JSON (CommaExpected)'],
    ['cursor', '{"mcpServers": {', 1, 'not valid JSON'],
    ['cursor', '[]', undefined, 'must hold an object'],
    ['cursor', '{"mcpServers": []}', undefined, 'must have an object in "mcpServers"'],
    ['codex', 'a = 1\nb = \n', 2, 'not valid TOML'],
    ['codex', 'mcp_servers = { a = { url = "x" } }\n', undefined, 'cannot be edited safely'],
    ['goose', 'x: 1\na: 1\n b: 2\n', 2, 'not valid YAML'],
    ['goose', '{a: 1}\n', undefined, 'cannot be edited safely'],
    ['goose', 'a: 1\n---\nb: 2\n', 2, 'not valid YAML'],
    ['continue', 'mcpServers: {}\n', undefined, 'must have a list in "mcpServers"'],
  ])('of %s is a problem: %j', (type, text, line, message) => {
    const edit = addEntry(text, client(type), ENDPOINT);
    expect(edit).toEqual({
      problem: { ...(line !== undefined && { line }), message: expect.stringContaining(message) as unknown },
    });
  });

  it('is not quoted in the problem', () => {
    for (const [type, text] of [
      ['cursor', '{"key": s3cret}'],
      ['codex', 'key = s3cret'],
      ['goose', 'key: [s3cret'],
    ] as const)
      expect(JSON.stringify(addEntry(text, client(type), ENDPOINT))).not.toContain('s3cret');
  });
});

describe('the entry of', () => {
  it.each(CLIENTS.map((one) => [one.type, one] as const))('%s', (_type, one) => {
    expect(snippet(one, ENDPOINT)).toMatchSnapshot();
  });

  it('a URL of the older transport names that transport', () => {
    const url = 'http://127.0.0.1:4483/sse';
    expect(snippet(client('vscode'), { name: 'tools', url })).toContain('"type": "sse"');
    expect(snippet(client('gemini-cli'), { name: 'tools', url })).toContain(`"url": "${url}"`);
  });
});

describe('findClient', () => {
  it.each([
    ['vs-code', 'vscode'],
    ['VS Code', 'vscode'],
    ['Claude Code', 'claude-code'],
    ['claudedesktop', 'claude-desktop'],
    ['nothing', undefined],
  ])('of %j is %j', (text, type) => {
    expect(findClient(text)?.type).toBe(type);
  });
});
