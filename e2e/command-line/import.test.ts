import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { openSession, textOf } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp, temporaryFolder, vmcpResult, writeFiles } from '../harness/vmcp.ts';

const npx = (name: string, ...args: string[]) => ({
  command: 'npx',
  args: ['-y', `@modelcontextprotocol/server-${name}`, ...args],
});

it('vmcp import and vmcp up serve the servers of a client', async () => {
  const scope = testScope();
  const folder = await temporaryFolder(scope);
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'remote');
  const servers = {
    Everything: npx('everything'),
    files: npx('filesystem', folder),
    memory: { ...npx('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
    remote: { type: 'http', url: backend.url, headers: { 'X-Api-Key': 'key-of-the-test' } },
    off: { ...npx('everything'), disabled: true },
    local: { command: 'python', args: ['server.py'] },
  };
  await writeFiles(folder, {
    'mcp.json': `// My servers\n${JSON.stringify({ mcpServers: servers })}`,
    'note.txt': 'hello',
  });

  const imported = await vmcpResult(scope, ['import', 'mcp.json'], { cwd: folder });
  expect(imported).toMatchObject({ code: 0, stderr: expect.stringMatching(/^left out "off".*\nleft out "local"/u) });
  const vmcp = await startVmcp(scope, { paths: [join(folder, 'vmcp')] });

  const session = await openSession(vmcp.url);
  const call = async (server: string, tool: string, args: Record<string, unknown> = {}) =>
    textOf(
      await eventually(`${server} answers`, async () => {
        const reply = await session.call(`${server}_${tool}`, args);
        return reply.result !== undefined && reply;
      }),
    );
  expect(await call('everything', 'echo', { message: 'hello' })).toBe('Echo: hello');
  expect(await call('files', 'read_text_file', { path: join(folder, 'note.txt') })).toBe('hello');
  expect(await call('memory', 'read_graph')).toContain('entities');
  expect(await call('remote', 'echo', { text: 'hello' })).toContain('hello');
  expect(backend.seen.at(-1)?.headers['x-api-key']).toBe('key-of-the-test');
  expect(new Set((await session.tools()).map((name) => name.split('_')[0]))).toEqual(
    new Set(['everything', 'files', 'memory', 'remote']),
  );
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
