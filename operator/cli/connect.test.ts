import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf } from '../../gateway/workloads/runner/process/process-lock.ts';
import { writeRunning, type Running } from '../local/state.ts';
import type { TerminalSize } from './table.ts';
import { connect, type ConnectFlags, chooseClientEndpoint, type ClientEndpointFlags } from './connect.ts';

describe('connect', () => {
  const URL_OF_TOOLS = 'http://127.0.0.1:4483/mcp';

  let home: string;
  let cursor: string;
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'vmcp-connect-'));
    cursor = join(home, '.cursor', 'mcp.json');
    mkdirSync(join(home, '.cursor'));
    mkdirSync(join(home, 'state'));
    const tools = { name: 'tools', namespace: 'default', mcpUrl: URL_OF_TOOLS };
    await writeRunning(join(home, 'state'), {
      ...identityOf(process.pid),
      managementUrl: 'http://127.0.0.1:8080',
      servers: [tools],
    });
  });
  afterEach(() => {
    rmSync(home, { recursive: true, force: true });
  });

  /** Runs the command for a user with this home folder. */
  function run(client: string | undefined, flags: ConnectFlags = {}, terminal: TerminalSize = {}) {
    const said = { stdout: '', stderr: '' };
    const code = connect(
      client,
      { state: join(home, 'state'), ...flags },
      {
        platform: 'linux',
        env: { HOME: home },
        stdout: { ...terminal, write: (text) => (said.stdout += text) },
        stderr: { write: (text) => (said.stderr += text) },
      },
    );
    return { code, ...said };
  }

  describe('vmcp connect CLIENT', () => {
    it('adds the running virtual server, and does nothing the second time', () => {
      writeFileSync(cursor, '{\n  // mine\n  "mcpServers": {"a": {"command": "x"}}\n}\n');
      expect(run('cursor')).toEqual({
        code: 0,
        stdout: `added "tools" (${URL_OF_TOOLS}) to ${cursor}: restart Cursor if it runs\n`,
        stderr: '',
      });
      expect(readFileSync(cursor, 'utf8')).toContain(`"url": "${URL_OF_TOOLS}"`);
      expect(readFileSync(cursor, 'utf8')).toContain('// mine');
      expect(run('cursor').stdout).toBe(`${cursor} already has "tools" (${URL_OF_TOOLS})\n`);
    });

    it('creates a missing file, which --remove deletes again', () => {
      const file = join(home, '.codex', 'config.toml');
      expect(run('codex').code).toBe(0);
      expect(readFileSync(file, 'utf8')).toBe(`[mcp_servers.tools]\nurl = "${URL_OF_TOOLS}"\n`);
      expect(run('codex', { remove: true })).toEqual({ code: 0, stdout: `removed "tools" from ${file}\n`, stderr: '' });
      expect(existsSync(file)).toBe(false);
      expect(run('codex', { remove: true }).stdout).toBe(`${file} has no entry "tools"\n`);
    });

    it('removes an entry by its name while nothing runs', () => {
      run('cursor');
      rmSync(join(home, 'state', 'running.json'));
      expect(run('cursor', { remove: true }).code).toBe(1);
      expect(run('cursor', { remove: true, name: 'tools' }).stdout).toBe(`removed "tools" from ${cursor}\n`);
    });

    it('replaces an entry for another URL with --force only', () => {
      run('cursor', { url: 'https://tools.example/mcp', name: 'tools' });
      const before = readFileSync(cursor, 'utf8');
      expect(run('cursor')).toEqual({
        code: 2,
        stdout: '',
        stderr: `${cursor} has an entry "tools" for https://tools.example/mcp: use --force to replace or remove it\n`,
      });
      expect(readFileSync(cursor, 'utf8')).toBe(before);
      expect(run('cursor', { force: true }).code).toBe(0);
      expect(readFileSync(cursor, 'utf8')).toBe(before.replace('https://tools.example/mcp', URL_OF_TOOLS));
    });

    it('prints the entry with --print and changes nothing', () => {
      const { code, stdout, stderr } = run('vs-code', { print: true });
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `Add this to ${home}/.config/Code/User/mcp.json, or to .vscode/mcp.json of a project:\n`,
      });
      expect(JSON.parse(stdout)).toEqual({ servers: { tools: { type: 'http', url: URL_OF_TOOLS } } });
      expect(existsSync(join(home, '.config'))).toBe(false);
    });

    it('prints JSON with -o json', () => {
      expect(JSON.parse(run('cursor', { output: 'json' }).stdout)).toEqual({
        client: 'cursor',
        name: 'tools',
        url: URL_OF_TOOLS,
        file: cursor,
        changed: true,
      });
    });

    it.each([
      ['{\n  "a": 1\n  "b": 2\n}\n', `:3: not valid JSON (CommaExpected): correct the file, then try again`, 2],
      ['{"mcpServers": []}', ' must have an object in "mcpServers": correct the file, then try again', 2],
    ])('writes nothing to a broken file: %j', (text, message, code) => {
      writeFileSync(cursor, text);
      expect(run('cursor')).toEqual({ code, stdout: '', stderr: `${cursor}${message}\n` });
      expect(readFileSync(cursor, 'utf8')).toBe(text);
    });

    it.each([
      [
        'a read-only file',
        () => {
          writeFileSync(cursor, '{}', { mode: 0o444 });
        },
        'is read-only',
      ],
      [
        'a locked file',
        () => {
          mkdirSync(`${cursor}.lock`);
        },
        'is locked by another program',
      ],
      [
        'a loop of links',
        () => {
          symlinkSync('mcp.json', cursor);
        },
        'cannot be read (ELOOP)',
      ],
      [
        'a folder',
        () => {
          mkdirSync(cursor);
        },
        'is no regular file: remove it, then try again',
      ],
    ])('fails with one sentence for %s', (_, prepare, message) => {
      // oxfmt-ignore
      prepare();
      const { code, stdout, stderr } = run('cursor');
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(`${cursor} ${message}`);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    });

    it('rejects wrong usage', () => {
      expect(run('emacs')).toMatchObject({ code: 2, stderr: expect.stringMatching(/^unknown client "emacs": choose one of amp-cli, antigravity, /u) as unknown }); // oxfmt-ignore
      expect(run('claude').stderr).toBe('unknown client "claude": did you mean claude-code or claude-desktop?\n');
      expect(run('cursr').stderr).toBe('unknown client "cursr": did you mean cursor?\n');
      expect(run(undefined, { remove: true })).toMatchObject({ code: 2, stderr: 'name a client for --remove, such as vmcp connect cursor\n' }); // oxfmt-ignore
      expect(run('cursor', { remove: true, print: true }).code).toBe(2);
    });
  });

  describe('vmcp connect inspector', () => {
    it('prints the command to run, and the option for its page', () => {
      const { code, stdout, stderr } = run('inspector');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`npx @modelcontextprotocol/inspector --server-url ${URL_OF_TOOLS} --transport http\n`);
      expect(stdout).toMatch(/up \.\.\. --allow-origin http:\/\/localhost:6274\n$/u);
      expect(JSON.parse(run('mcp-inspector', { output: 'json' }).stdout)).toMatchObject({
        url: URL_OF_TOOLS,
        allowOrigin: 'http://localhost:6274',
      });
    });

    it('changes no file', () => {
      expect(run('inspector', { remove: true })).toMatchObject({ code: 2, stdout: '' });
    });
  });

  describe('vmcp connect', () => {
    it('lists the clients, whether they are installed, and their entries for running servers', () => {
      run('cursor');
      run('cursor', { url: 'https://tools.example/mcp', name: 'other' });
      const { code, stdout, stderr } = run(undefined);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const lines = stdout.split('\n');
      expect(lines[0]).toMatch(/^CLIENT +NAME +INSTALLED +CONNECTED +FILE$/u);
      expect(lines.find((line) => line.startsWith('cursor '))).toMatch(/ Cursor +yes +tools +~\/\.cursor\/mcp\.json$/u);
      expect(lines.find((line) => line.startsWith('codex '))).toMatch(/ Codex +no +- /u);
    });

    it('lists installed clients first, in lines of at most 80 characters on a terminal of that width', () => {
      run('cursor');
      run('cursor', { name: 'another-endpoint-with-a-name', url: 'http://127.0.0.1:4483/mcp' });
      const lines = run(undefined, {}, { isTTY: true, columns: 80 }).stdout.trimEnd().split('\n');
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      const states = lines.slice(1).map((line) => / (yes|no) +/u.exec(line)?.[1]);
      expect(states).toEqual(states.toSorted().toReversed());
      expect(states[0]).toBe('yes');
      expect(lines.find((line) => line.startsWith('vscode '))).toMatch(/ VS Code +no +- +~\/\.\.\.\/mcp\.json$/u);
    });

    it('cuts nothing in a pipe, and no more than a terminal needs', () => {
      run('cursor', { name: 'another-endpoint-with-a-name', url: 'http://127.0.0.1:4483/mcp' });
      const clients = JSON.parse(run(undefined, { output: 'json' }).stdout) as { name: string; file: string }[];
      const widths: (TerminalSize | undefined)[] = [undefined, { columns: 80 }, { isTTY: true, columns: 300 }];
      for (const terminal of widths) {
        const { stdout } = run(undefined, {}, terminal);
        expect(stdout).not.toContain('...');
        expect(stdout).toContain(' another-endpoint-with-a-name ');
        for (const { name, file } of clients) {
          expect(stdout).toContain(` ${name} `);
          expect(stdout).toContain(` ${file.replace(home, '~')}\n`);
        }
      }
      const narrow = run(undefined, {}, { isTTY: true, columns: 0 }).stdout.split('\n');
      expect(narrow.filter((line) => line.length > 80)).toEqual([]);
    });

    it('writes the file of Kimi CLI only where Kimi Code is not there', () => {
      mkdirSync(join(home, '.kimi'));
      expect(run('kimi-cli').stdout).toContain('/.kimi/mcp.json');
      mkdirSync(join(home, '.kimi-code'));
      expect(run('kimi-code').stdout).toContain('/.kimi-code/mcp.json');
    });

    it('says what Gemini CLI needs before it uses an entry', () => {
      const step =
        'Gemini CLI shows it as Disabled in each folder that you do not trust: start gemini there, and trust it\n';
      expect(run('gemini-cli').stdout).toMatch(new RegExp(`^added .*\n${step}$`, 'u'));
      expect(run('gemini-cli').stdout).not.toContain('Disabled');
      expect(run('gemini-cli', { print: true }).stderr).toContain(step);
    });

    it('prints JSON with -o json, also next to a broken file', () => {
      writeFileSync(cursor, '{');
      const clients = JSON.parse(run(undefined, { output: 'json' }).stdout) as { client: string }[];
      expect(clients.find(({ client }) => client === 'cursor')).toEqual({
        client: 'cursor',
        name: 'Cursor',
        installed: true,
        connected: [],
        file: cursor,
      });
    });
  });
});

const running = (...names: string[]): Running => ({
  pid: 1,
  startTime: 'x',
  managementUrl: 'http://127.0.0.1:8080',
  servers: names.map((name, index) => ({
    name: name.replace(/^.*\//u, ''),
    namespace: name.replace(/\/.*$/u, ''),
    mcpUrl: `http://127.0.0.1:${String(4483 + index)}/mcp`,
  })),
});
const choose = (flags: ClientEndpointFlags, ...names: string[]) =>
  chooseClientEndpoint(flags, names.length > 0 ? running(...names) : undefined, '/state');

describe('chooseEndpoint', () => {
  it.each([
    [{}, ['a/one'], 'one', 4483],
    [{ name: 'mine' }, ['a/one'], 'mine', 4483],
    [{ name: 'two' }, ['a/one', 'a/two'], 'two', 4484],
    [{ name: 'b/one' }, ['a/one', 'b/one'], 'one', 4484],
  ])('with %j and %j running is %s', (flags, names, name, port) => {
    expect(choose(flags, ...names)).toEqual({ endpoint: { name, url: `http://127.0.0.1:${String(port)}/mcp` } });
  });

  it('prefers --url, whose entry is called vmcp', () => {
    const url = 'https://tools.example/mcp';
    expect(choose({ url }, 'a/one')).toEqual({ endpoint: { name: 'vmcp', url } });
    expect(choose({ url, name: 'x' })).toEqual({ endpoint: { name: 'x', url } });
  });

  it.each([
    [{}, [], 'no vmcp up runs with the state folder /state: start it, or name the URL with --url', false],
    [{}, ['a/one', 'a/two'], 'several virtual servers run (a/one, a/two): choose one with --name', true],
    [{ name: 'x' }, ['a/one', 'a/two'], 'no virtual server "x" runs: choose one of a/one, a/two', true],
    [{ name: 'one' }, ['a/one', 'b/one'], 'several virtual servers are called "one": choose one of a/one, b/one', true],
    [{ name: 'a b' }, ['a/one'], '--name must start with a letter', true],
    [{ url: 'ftp://x' }, [], '--url must be an http or https URL', true],
    [{ url: 'http://ann:secret@x/mcp' }, [], '--url must be an http or https URL', true],
  ])('with %j and %j running fails: %s', (flags, names, message, isUsage) => {
    expect(choose(flags, ...names)).toEqual({ message: expect.stringContaining(message) as unknown, isUsage });
  });
});
