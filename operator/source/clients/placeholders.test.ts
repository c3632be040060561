import { describe, expect, it } from 'vitest';
import { readServer } from './read-server.ts';
import type { ProcessSpec, RemoteSpec } from './server-spec.ts';

const variable = (text: string) => {
  const reading = readServer({ command: 'npx', args: ['x'], env: { KEY: text } });
  if ('leftOut' in reading) throw new Error(reading.leftOut);
  const { env, secrets } = reading.server as ProcessSpec;
  const [{ name: _name, ...value } = { name: '' }] = [...env, ...secrets];
  return { ...value, warnings: reading.warnings };
};
const header = (text: string) => {
  const reading = readServer({ url: 'https://a.example', headers: { 'X-Key': text } });
  if ('leftOut' in reading) throw new Error(reading.leftOut);
  const [{ name: _name, ...value } = { name: '' }] = (reading.server as RemoteSpec).headers;
  return { ...value, warnings: reading.warnings };
};

/**
 * Placeholders of each client, from its documentation or its program: Gemini CLI 0.61.0 and Qwen Code 0.24.4
 * (`resolveEnvVarsInString`), Claude Code 2.1.332 (code.claude.com/docs/en/mcp), VS Code
 * (code.visualstudio.com/docs/agents/reference/mcp-configuration), Cursor (cursor.com/docs/mcp), Windsurf
 * (docs.windsurf.com/windsurf/cascade/mcp), opencode 1.18.33 (opencode.ai/docs/config), Continue 1.5.47.
 */
describe('a placeholder that is the whole value of a variable', () => {
  it.each<[client: string, text: string, value: object]>([
    ['Gemini CLI and Qwen Code', '$GITHUB_TOKEN', { fromEnv: 'GITHUB_TOKEN' }],
    ['Gemini CLI and Qwen Code', '$github_token', { fromEnv: 'github_token' }],
    ['Gemini CLI and Qwen Code', '${GITHUB_TOKEN}', { fromEnv: 'GITHUB_TOKEN' }],
    ['Gemini CLI', '${GITHUB_TOKEN:-none}', { fromEnv: 'GITHUB_TOKEN', fallback: 'none' }],
    ['Claude Code', '${GITHUB_TOKEN}', { fromEnv: 'GITHUB_TOKEN' }],
    ['Claude Code', '${github_token}', { fromEnv: 'github_token' }],
    ['Claude Code', '${LOG_LEVEL:-info}', { fromEnv: 'LOG_LEVEL', fallback: 'info' }],
    ['Claude Code', '${KEY:-}', { fromEnv: 'KEY', fallback: '' }],
    ['Claude Code', '${A:-${B}}', { fromEnv: 'A' }],
    ['Cursor, VS Code and Windsurf', '${env:GITHUB_TOKEN}', { fromEnv: 'GITHUB_TOKEN' }],
    ['Cursor, VS Code and Windsurf', '${env:gitHub}', { fromEnv: 'gitHub' }],
    ['VS Code', '${input:github_token}', { missing: '${input:github_token}' }],
    ['VS Code and Cursor', '${workspaceFolder}', { missing: '${workspaceFolder}' }],
    ['VS Code and Cursor', '${userHome}', { missing: '${userHome}' }],
    ['Windsurf', '${file:/home/me/key}', { missing: '${file:/home/me/key}' }],
    ['opencode', '{env:GITHUB_TOKEN}', { fromEnv: 'GITHUB_TOKEN' }],
    ['opencode', '{file:~/.secrets/key}', { missing: '{file:~/.secrets/key}' }],
    ['Continue', '${{ secrets.GITHUB_TOKEN }}', { missing: '${{ secrets.GITHUB_TOKEN }}' }],
    ['programs of Windows', '%GITHUB_TOKEN%', { fromEnv: 'GITHUB_TOKEN' }],
    ['programs of Windows', '%AppData%', { fromEnv: 'AppData' }],
    ['PowerShell', '$env:GITHUB_TOKEN', { fromEnv: 'GITHUB_TOKEN' }],
  ])('of %s: %s', (_client, text, value) => {
    expect(variable(text)).toEqual({ ...value, warnings: [] });
  });
});

describe('a placeholder inside of a longer text', () => {
  it.each<[text: string, shown: string]>([
    ['Bearer $TOKEN', '$TOKEN'],
    ['key=$API_KEY;x', '$API_KEY'],
    ['https://$HOST/v1', '$HOST'],
    ['prefix-$A_B.c', '$A_B'],
    ['id$TOKEN', '$TOKEN'],
    ['$USER_NAME:$PASS_WORD', '$USER_NAME and $PASS_WORD'],
    ['Bearer ${TOKEN}', '${TOKEN}'],
    ['a${env:b}c', '${env:b}'],
    ['Bearer ${input:token}', '${input:token}'],
    ['Bearer {env:TOKEN}', '{env:TOKEN}'],
    ['Bearer ${{ secrets.TOKEN }}', '${{ secrets.TOKEN }}'],
    ['Bearer $env:TOKEN', '$env:TOKEN'],
    ['C:\\x;%PATH%', '%PATH%'],
    ['Bearer ${TOKEN:-}', '${TOKEN:-}'],
  ])('%s has to be filled in', (text, shown) => {
    const warning = `contains ${shown}, which vmcp does not replace in a longer text: fill in its value`;
    expect(variable(text)).toEqual({ missing: text, warnings: [`KEY ${warning}`] });
    expect(header(text)).toEqual({ missing: text, warnings: [`X-Key ${warning}`] });
  });

  it.each(['YOUR_API_KEY', 'your-token-here', '<token>', 'Bearer <YOUR_TOKEN>', 'PASTE_IT_HERE', 'xxxx', 'changeme'])(
    '%s is kept, with a warning that it is an example',
    (text) => {
      const warning = 'has an example in place of a value: write yours';
      expect(variable(text)).toEqual({ value: text, warnings: [`KEY ${warning}`] });
      expect(header(text)).toEqual({ value: text, warnings: [`X-Key ${warning}`] });
    },
  );

  it.each(['yourself', 'a<b>', 'nowhere', 'xx', 'sk-1'])('%s is a value', (text) => {
    expect(variable(text)).toEqual({ value: text, warnings: [] });
  });

  it('is replaced by its default', () => {
    const warning = 'has the default of HOST and PORT: write another value into its Secret where your client has one';
    const value = { value: 'http://db:80/', defaultOf: ['HOST', 'PORT'] };
    const text = 'http://${HOST:-db}:${PORT:-80}/';
    expect(variable(text)).toEqual({ ...value, warnings: [`KEY ${warning}`] });
    expect(header(text)).toEqual({ ...value, warnings: [`X-Key ${warning}`] });
  });
});

it.each([
  ...['pa$$word', 'pa$$WORD', 'US$5', 'US$5 $10', '$5', '$', '$$', 'a$B', '$2a$10$N9qo8uLOickgx2ZMRZoMye', 'p@ss$word'],
  ...['100%', 'a%20B%20c', '%C3%BC%20x', '50%OFF', '{"env": 1}', 'a{b}c', '\\$TOKEN', 'x$', 'my-$ecret'],
])('%s stays a value', (text) => {
  expect(variable(text)).toEqual({ value: text, warnings: [] });
  expect(header(text)).toEqual({ value: text, warnings: [] });
});

describe('a default', () => {
  const read = (value: object) => {
    const reading = readServer(value);
    if ('leftOut' in reading) throw new Error(reading.leftOut);
    return reading;
  };

  it('replaces its placeholder in an argument, except in the script of a shell', () => {
    const { server, warnings } = read({ command: 'npx', args: ['x', '--port=${PORT:-3000}', '${HOST}'] });
    expect((server as ProcessSpec).args).toEqual(['--port=3000', '${HOST}']);
    expect(warnings).toEqual([
      'argument 1 has the default of ${PORT:-...}',
      'argument 2 contains ${HOST}, which vmcp does not replace: write the value',
    ]);
    expect(read({ command: 'npx', args: ['x', '${HOST}:${PORT:-3000}'] }).warnings[0]).toBe(
      'argument 1 has the default of ${PORT:-...}',
    );
    const script = ['-c', 'exec server ${PORT:-3000} ${HOST} $TOKEN'];
    expect(read({ command: 'bash', args: script })).toMatchObject({ server: { args: script }, warnings: [] });
  });

  it('is missing in an argument with spaces, which causes a warning', () => {
    const args = ['x', '--header', 'Authorization: Bearer $TOKEN'];
    expect(read({ command: 'npx', args }).warnings).toEqual([
      'argument 2 contains $TOKEN, which vmcp does not replace: write the value',
    ]);
  });

  it('replaces its placeholder in a URL', () => {
    const { server, warnings } = read({ url: '${BASE:-https://a.example}/mcp' });
    expect(server).toMatchObject({ url: 'https://a.example/mcp' });
    expect(warnings).toEqual(['its URL has the default of ${BASE:-...}']);
  });

  it('is in no message', () => {
    const texts = ['x ${KEY:-sk-1}', '${KEY:-sk-1}${input:b}'].flatMap((text) => [variable(text), header(text)]);
    expect(texts.flatMap(({ warnings }) => warnings).join('\n')).not.toContain('sk-1');
  });
});
