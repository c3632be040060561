import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession, raw, textOf } from '../harness/clients/raw.ts';
import { PYTHON_PACKAGE, pythonIndex } from '../harness/packages.ts';
import { eventually } from '../harness/poll.ts';
import { hasPython } from '../harness/python.ts';
import { testScope } from '../harness/scope.ts';
import { root, startVmcp, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

const npx = (name: string, ...args: string[]) => ({
  command: 'npx',
  args: ['-y', `@modelcontextprotocol/server-${name}`, ...args],
});

/** npm and uv need some seconds on an idle machine. */
const INSTALL_MS = 120_000;

it.runIf(hasPython)(
  'vmcp import and vmcp up serve the six servers of a client',
  async () => {
    const scope = testScope();
    const folder = await temporaryFolder(scope);
    const remote = await startHttpBackend(scope, 'sdk-1-stateful', 'remote');
    const events = await startHttpBackend(scope, 'sdk-1-sse', 'events');
    const servers = {
      Everything: npx('everything'),
      files: npx('filesystem', folder),
      memory: {
        ...npx('memory'),
        env: { MEMORY_FILE_PATH: '${MEMORY_FILE:-memory.jsonl}' },
        includeTools: ['read_graph'],
        timeout: 60_000,
      },
      python: { command: 'uvx', args: [PYTHON_PACKAGE, 'python'] },
      remote: { type: 'http', url: remote.url, headers: { 'X-Api-Key': 'key-of-the-test' } },
      events: { command: 'npx', args: ['-y', 'mcp-remote', events.url] },
    };
    await writeFiles(folder, {
      'mcp.json': `// My servers\n${JSON.stringify({ mcpServers: servers })}`,
      'note.txt': 'hello',
    });

    const imported = await vmcpResult(scope, ['import', 'mcp.json'], { cwd: folder, terminal: true });
    expect(imported).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^renamed "Everything" to everything\r\nCHANGE/u),
    });
    const env = await pythonIndex(scope);
    const vmcp = await startVmcp(scope, { paths: [join(folder, 'vmcp')], env, terminal: true });

    const session = await openSession(vmcp.url);
    const call = async (server: string, tool: string, args: Record<string, unknown> = {}) => {
      const answer = async () => {
        const reply = await session.call(`${server}_${tool}`, args);
        return reply.result !== undefined && reply;
      };
      return textOf(await eventually(`${server} answers`, answer, { timeoutMs: INSTALL_MS }));
    };
    expect(await call('everything', 'echo', { message: 'hello' })).toBe('Echo: hello');
    expect(await call('files', 'read_text_file', { path: join(folder, 'note.txt') })).toBe('hello');
    expect(await call('memory', 'read_graph')).toContain('entities');
    expect(await call('python', 'echo', { text: 'hello' })).toContain('hello');
    expect(await call('remote', 'echo', { text: 'hello' })).toContain('hello');
    expect(remote.seen.at(-1)?.headers['x-api-key']).toBe('key-of-the-test');
    expect(await call('events', 'echo', { text: 'hello' })).toContain('hello');
    const tools = await session.tools();
    expect(tools.filter((name) => name.startsWith('memory_'))).toEqual(['memory_read_graph']);
    expect(new Set(tools.map((name) => name.split('_')[0]))).toEqual(
      new Set(['everything', 'files', 'memory', 'python', 'remote', 'events']),
    );
  },
  2 * INSTALL_MS,
);

it('vmcp import and vmcp up run the programs that a client starts, with only their own variables', async () => {
  const scope = testScope();
  const folder = await temporaryFolder(scope);
  const everything = join(root, 'node_modules', '@modelcontextprotocol', 'server-everything');
  const bin = join(folder, 'my bin');
  const env = { KEY: 'key-of-the-test' };
  await mkdir(bin);
  await writeFile(join(bin, 'own-server'), `#!/bin/sh\nexec node "${everything}/dist/index.js" "$@"\n`, {
    mode: 0o755,
  });
  const servers = {
    file: { command: 'node', args: [join(everything, 'dist', 'index.js'), 'stdio'], env },
    folder: { command: 'node', args: ['dist/index.js', 'stdio'], cwd: everything, env },
    binary: { command: join(bin, 'own-server'), args: ['stdio'], env },
    onpath: { command: 'own-server', args: ['stdio'], env },
    missing: { command: 'nowhere-on-path', args: ['stdio'], env },
  };
  await writeFiles(folder, { 'mcp.json': JSON.stringify({ mcpServers: servers }) });
  const shell = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOST_SECRET: 'secret-of-the-shell' };
  const imported = await vmcpResult(scope, ['import', 'mcp.json'], { cwd: folder, env: shell });
  expect(imported).toMatchObject({
    code: 0,
    stderr:
      'warning: missing: nowhere-on-path is not on PATH: install it, or write its absolute path into missing.yaml\n',
  });
  const vmcp = await startVmcp(scope, { paths: [join(folder, 'vmcp')], env: shell });

  const session = await openSession(vmcp.url);
  for (const server of ['file', 'folder', 'binary', 'onpath']) {
    const reply = await eventually(`${server} answers`, async () => {
      const { result, ...rest } = await session.call(`${server}_get-env`, {});
      return result !== undefined && { result, ...rest };
    });
    const seen = JSON.parse(textOf(reply)) as Record<string, string>;
    expect(seen).toMatchObject({ KEY: 'key-of-the-test', MCP_TRANSPORT: 'stdio' });
    expect(JSON.stringify(seen)).not.toContain('secret-of-the-shell');
  }
  const { body } = await raw(`${vmcp.management}/status`);
  expect(body).toContain('nowhere-on-path is not on PATH: install it, or write its absolute path');
});

it('vmcp init, add and remove edit a folder', async () => {
  const scope = testScope();
  const cwd = await temporaryFolder(scope);
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await vmcpResult(scope, args, { cwd });
    return { code, stderr, rows: stdout.split('\n').slice(1, -3) };
  };
  expect(await run('init')).toEqual({
    code: 0,
    stderr: '',
    rows: [
      'created  vmcp/gateway.yaml     MCPGroup/vmcp, VirtualMCPServer/vmcp',
      'created  vmcp/everything.yaml  MCPServer/everything',
    ],
  });
  const options = ['--env', 'TZ=UTC', '--env', 'LEVEL=1', '--secret', 'KEY=v'];
  expect(await run('add', 'time', 'uvx://mcp-server-time', ...options, '--', '--local', '-v')).toMatchObject({
    code: 0,
    rows: ['created  vmcp/time.yaml     MCPServer/time', 'created  vmcp/secrets.yaml  Secret/time'],
  });
  const text = await readFile(join(cwd, 'vmcp', 'time.yaml'), 'utf8');
  expect(text).toContain(
    '  args:\n    - --local\n    - -v\n  env:\n    - name: TZ\n      value: UTC\n    - name: LEVEL\n',
  );
  expect(await run('remove', 'everything')).toMatchObject({
    code: 0,
    stderr: '',
    rows: ['deleted  vmcp/everything.yaml  MCPServer/everything'],
  });
});
