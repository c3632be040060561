import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { render } from '../../operator/cli/validate/render.ts';
import { validate } from '../../operator/cli/validate/validate.ts';
import { loadManifests } from '../../operator/source/files/load.ts';
import { startCollector } from '../harness/collector/collector.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { beside, testScope } from '../harness/scope.ts';
import { root, vmcpResult } from '../harness/vmcp.ts';
import { ownGatewayConfig } from '../scenarios/policies/own-gateway.ts';
import { startEverything, startExample } from './run-example.ts';

const EVERYTHING = [
  'echo',
  'get-annotated-message',
  'get-env',
  'get-resource-links',
  'get-resource-reference',
  'get-structured-content',
  'get-sum',
  'get-tiny-image',
  'gzip-file-as-resource',
  'simulate-research-query',
  'toggle-simulated-logging',
  'toggle-subscriber-updates',
  'trigger-long-running-operation',
];
const MEMORY = [
  'add_observations',
  'create_entities',
  'create_relations',
  'delete_entities',
  'delete_observations',
  'delete_relations',
  'open_nodes',
  'read_graph',
  'search_nodes',
];
/** Variables of the shell that examples need. */
const HOST = { DEMO_API_TOKEN: 'token-of-the-shell' };
/** False on a machine without python3 or its venv; the Makefile then prints `not applicable`. */
const hasPython = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0;
const prefixed = (prefix: string, names: readonly string[]): string[] => names.map((name) => `${prefix}${name}`);

/** Returns the process id of the child of this MCPServer. */
function pidOfChild(state: string, name: string): number {
  const files = globSync('processes/*.json', { cwd: state });
  const records = files.map(
    (file) => JSON.parse(readFileSync(join(state, file), 'utf8')) as { pid: number; name: string },
  );
  const record = records.find((each) => each.name === name);
  if (!record) throw new Error(`no process of ${name} below ${state}`);
  return record.pid;
}

async function toolNames(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map((tool) => tool.name);
}

interface CallResult {
  content: { type: string; text?: string }[];
  isError?: boolean;
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<CallResult> {
  return (await client.callTool({ name, arguments: args })) as unknown as CallResult;
}

const textOf = (result: CallResult): string => result.content.map((block) => block.text ?? '').join('');

/** Mostly waits for the package index. */
const pythonUvx = beside(async (scope) => {
  if (!hasPython) return;
  const client = await (await startExample(scope, 'python-uvx')).client();
  const args = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
  const listed = async () => (await toolNames(client)).length > 0;
  await eventually('the package is installed and answers', listed, { timeoutMs: 200_000, intervalMs: 1_000 });
  expect(await toolNames(client)).toEqual(['time_convert_time', 'time_get_current_time']);
  expect(textOf(await call(client, 'time_convert_time', args))).toContain('21:00');
});

describe('examples', () => {
  it('quickstart: two servers answer behind one endpoint', async () => {
    const client = await (await startExample(testScope(), 'quickstart')).client();
    expect(await toolNames(client)).toEqual([...prefixed('everything_', EVERYTHING), ...prefixed('memory_', MEMORY)]);
    expect(textOf(await call(client, 'everything_echo', { message: 'hello' }))).toBe('Echo: hello');
    expect(textOf(await call(client, 'memory_read_graph'))).toContain('entities');
  });

  it('conflicts-prefix: every tool has the name of its server as prefix', async () => {
    const client = await (await startExample(testScope(), 'conflicts-prefix')).client();
    expect(await toolNames(client)).toEqual([...prefixed('east__', EVERYTHING), ...prefixed('west__', EVERYTHING)]);
    expect(textOf(await call(client, 'west__get-env'))).toContain('"REGION": "west"');
    expect(textOf(await call(client, 'east__get-env'))).toContain('"REGION": "east"');
  });

  it('conflicts-priority: the first server in the order owns the name', async () => {
    const client = await (await startExample(testScope(), 'conflicts-priority')).client();
    expect(await toolNames(client)).toEqual([...EVERYTHING, ...MEMORY].sort());
    expect(textOf(await call(client, 'get-env'))).toContain('"REGION": "west"');
    expect(textOf(await call(client, 'read_graph'))).toContain('entities');
  });

  it('conflicts-manual: overrides resolve every conflict', async () => {
    const client = await (await startExample(testScope(), 'conflicts-manual')).client();
    expect(await toolNames(client)).toEqual([...prefixed('archive_', MEMORY), ...MEMORY].sort());
    const entity = { name: 'lighthouse', entityType: 'place', observations: ['is white'] };
    await call(client, 'archive_create_entities', { entities: [entity] });
    expect(textOf(await call(client, 'archive_read_graph'))).toContain('lighthouse');
    expect(textOf(await call(client, 'read_graph'))).not.toContain('lighthouse');
  });

  it('conflicts-none: names are unchanged', async () => {
    const client = await (await startExample(testScope(), 'conflicts-none')).client();
    expect(await toolNames(client)).toEqual([...EVERYTHING, ...MEMORY].sort());
    expect(textOf(await call(client, 'echo', { message: 'plain' }))).toBe('Echo: plain');
  });

  it('tool-filter: a filtered tool is unknown when called', async () => {
    const client = await (await startExample(testScope(), 'tool-filter')).client();
    expect(await toolNames(client)).toEqual(['echo', 'get-sum']);
    await expect(call(client, 'get-env')).rejects.toMatchObject({ code: -32602 });
  });

  it('tool-override: the new name works, the old one is unknown, the schema is unchanged', async () => {
    const client = await (await startExample(testScope(), 'tool-override')).client();
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(1);
    expect(tools[0]).toMatchObject({
      name: 'add',
      description: 'Adds two numbers and says the result in words.',
      annotations: { title: 'Add', readOnlyHint: true, openWorldHint: false },
    });
    expect(Object.keys(tools[0]?.inputSchema.properties ?? {})).toEqual(['a', 'b']);
    expect(textOf(await call(client, 'add', { a: 2, b: 3 }))).toBe('The sum of 2 and 3 is 5.');
    await expect(call(client, 'get-sum', { a: 2, b: 3 })).rejects.toMatchObject({ code: -32602 });
  });

  it('tool-config: shared filters and overrides apply, and the override of the virtual server wins', async () => {
    const client = await (await startExample(testScope(), 'tool-config')).client();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['add', 'echo', 'find', 'graph', 'open_nodes']);
    expect(tools[0]).toMatchObject({ annotations: { title: 'Add', readOnlyHint: true, openWorldHint: false } });
    expect(textOf(await call(client, 'add', { a: 2, b: 3 }))).toBe('The sum of 2 and 3 is 5.');
    expect(textOf(await call(client, 'graph'))).toContain('entities');
    for (const hidden of ['get-sum', 'get-env', 'create_entities', 'search'])
      await expect(call(client, hidden, { a: 2, b: 3 })).rejects.toMatchObject({ code: -32602 });
  });

  it('visibility: only the named server shows its tools', async () => {
    const client = await (await startExample(testScope(), 'visibility')).client();
    expect(await toolNames(client)).toEqual(prefixed('everything_', EVERYTHING));
    await expect(call(client, 'memory_read_graph')).rejects.toMatchObject({ code: -32602 });
    const { resources } = await client.listResources();
    expect(resources.map((resource) => resource.uri)).toContain('memory://knowledge-graph');
  });

  it('audit: each call is a line in the audit log, without secrets', async () => {
    const { vmcp, client } = await startExample(testScope(), 'audit');
    await call(await client(), 'everything_echo', { message: 'hello', api_key: 'k-1' });
    const yaml = readFileSync(join(vmcp.folder, 'audit.yaml'), 'utf8');
    const file = /logFile: (\S+)/u.exec(yaml)?.[1] ?? '';
    const line = await eventually('the call is in the audit log', () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .find((each) => each.includes('"mcp_tool_call"')),
    );
    expect(line).toContain('"arguments":{"message":"hello","api_key":"[redacted]"}');
  });

  it('remote-http: a running server is a backend', async () => {
    const ports = { 3901: await startEverything(testScope(), 'streamableHttp') };
    const client = await (await startExample(testScope(), 'remote-http', { ports })).client();
    expect(await toolNames(client)).toEqual(prefixed('docs_', EVERYTHING));
    expect(textOf(await call(client, 'docs_echo', { message: 'over-http' }))).toBe('Echo: over-http');
  });

  it('remote-sse: a streamable HTTP client can use a server of the 2024-11-05 transport', async () => {
    const ports = { 3902: await startEverything(testScope(), 'sse') };
    const client = await (await startExample(testScope(), 'remote-sse', { ports })).client();
    expect(await toolNames(client)).toEqual(prefixed('older_', EVERYTHING));
    expect(textOf(await call(client, 'older_get-sum', { a: 20, b: 22 }))).toBe('The sum of 20 and 22 is 42.');
  });

  it('header-forward: both headers reach the server, and the key is not in the rendered configuration', async () => {
    const seen: { team: unknown; key: unknown }[] = [];
    const server = createServer((request, response) => {
      seen.push({ team: request.headers['x-team'], key: request.headers['x-api-key'] });
      response.writeHead(404).end();
    });
    const port = await freePort();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    testScope().defer(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    const client = await (await startExample(testScope(), 'header-forward', { ports: { 3903: port } })).client();
    expect(await toolNames(client)).toEqual([]);
    expect(seen).not.toHaveLength(0);
    for (const headers of seen) expect(headers).toEqual({ team: 'platform', key: 'demo-key-of-the-example' });
    const rendered = await vmcpResult(testScope(), ['render', join(root, 'examples', 'header-forward')]);
    expect(rendered.code).toBe(0);
    expect(rendered.stdout).toContain('X-Api-Key');
    expect(rendered.stdout).not.toContain('demo-key-of-the-example');
  });

  it('http-process: starts a server that listens for HTTP', async () => {
    const client = await (await startExample(testScope(), 'http-process')).client();
    await eventually('the process listens', async () => (await toolNames(client)).length > 0);
    expect(await toolNames(client)).toEqual(prefixed('everything_', EVERYTHING));
    expect(textOf(await call(client, 'everything_echo', { message: 'http' }))).toBe('Echo: http');
  });

  it('two-gateways: each has its own URL and its own tools', async () => {
    const example = await startExample(testScope(), 'two-gateways', { gateways: ['readers', 'writers'] });
    expect(example.url('readers')).not.toBe(example.url('writers'));
    const readers = await example.client('readers');
    const writers = await example.client('writers');
    expect(await toolNames(readers)).toEqual(['memory_open_nodes', 'memory_read_graph', 'memory_search_nodes']);
    expect(await toolNames(writers)).toEqual([...prefixed('everything_', EVERYTHING), ...prefixed('memory_', MEMORY)]);
    await expect(call(readers, 'memory_create_entities', { entities: [] })).rejects.toMatchObject({ code: -32602 });
  });

  it('timeouts-and-circuit-breaker: slow calls time out, a hanging server opens the circuit, the other answers', async () => {
    const example = await startExample(testScope(), 'timeouts-and-circuit-breaker');
    const client = await example.client();
    const slow = { name: 'everything_trigger-long-running-operation', args: { duration: 10, steps: 2 } };
    const health = async () => (await fetch(`${example.vmcp.management}/api/backends/health`)).text();
    // On a busy machine the first list of a server that has just started takes longer than its 2 s, too.
    const listed = async () => (await client.listTools()).tools.map(({ name }) => name);
    await eventually('the slow tool is listed', async () => (await listed()).includes(slow.name), {
      timeoutMs: 60_000,
    });
    const isCutOff = async () => expect(textOf(await call(client, slow.name, slow.args))).toMatch(/timed out/u);
    await Promise.all([isCutOff(), isCutOff()]);
    expect(await health()).not.toContain('"circuit_state":"open"');

    const pid = pidOfChild(example.vmcp.state, 'everything');
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(pid, 'SIGCONT'));
    await isCutOff();
    await eventually('the circuit is open', async () => (await health()).includes('"circuit_state":"open"'));
    const startedAt = Date.now();
    const refused = await call(client, slow.name, slow.args);
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain('everything');
    expect(Date.now() - startedAt).toBeLessThan(1_000);
    expect(textOf(await call(client, 'steady_read_graph'))).toContain('entities');
  });

  it('rate-limits: the third call of a limited tool is refused, other tools answer', async () => {
    const example = await startExample(testScope(), 'rate-limits');
    const client = await example.client();
    const echo = () => call(client, 'everything_echo', { message: 'hello' });
    expect([textOf(await echo()), textOf(await echo())]).toEqual(['Echo: hello', 'Echo: hello']);
    await expect(echo()).rejects.toThrow('Rate limit exceeded: try again in 30 s');
    expect(textOf(await call(client, 'everything_get-sum', { a: 1, b: 2 }))).toContain('3');
  });
  it.skipIf(!hasPython)(
    'telemetry: the request of the client and the call of the server are in one trace',
    async () => {
      const collector = await startCollector(testScope());
      const ports = { 4318: Number(new URL(collector.endpoint).port) };
      const client = await (await startExample(testScope(), 'telemetry', { ports })).client();
      await call(client, 'everything_echo', { message: 'hello' });
      await eventually('both spans arrive', async () => {
        const spans = await collector.spans();
        const server = spans.find(({ name }) => name === 'tools/call everything_echo');
        const sent = spans.find(({ name }) => name === 'tools/call echo');
        return (
          server !== undefined &&
          sent?.parentSpanId === server.spanId &&
          server.resource['service.name'] === 'telemetry'
        );
      });
      const [headers] = await collector.headers();
      expect(headers?.['authorization']).toBe('Bearer example-token');
    },
  );

  it('partial-failure: strict rejects the list, tolerant names the missing backend', async () => {
    const ports = { 3909: await freePort() };
    const example = await startExample(testScope(), 'partial-failure', { gateways: ['strict', 'tolerant'], ports });
    const strict = await example.client('strict');
    const tolerant = await example.client('tolerant');
    await expect(strict.listTools()).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('absent') as string,
    });
    const list = await tolerant.listTools();
    expect(list.tools.map((tool) => tool.name)).toEqual(prefixed('everything_', EVERYTHING));
    expect(list._meta?.['vmcp.dev/unavailableBackends']).toEqual(['absent']);
    expect(textOf(await call(strict, 'everything_echo', { message: 'one' }))).toBe('Echo: one');
    expect(textOf(await call(tolerant, 'everything_echo', { message: 'two' }))).toBe('Echo: two');
  });

  it('secrets-env: the server gets its secret and no other variable of the shell', async () => {
    const env = { VMCP_EXAMPLE_CANARY: 'canary-of-the-shell' };
    const client = await (await startExample(testScope(), 'secrets-env', { env })).client();
    const seen = textOf(await call(client, 'everything_get-env'));
    expect(seen).toContain('"DEMO_TOKEN": "token-of-the-example"');
    expect(seen).toContain('"MODE": "demo"');
    expect(seen).not.toContain('canary-of-the-shell');
    const rendered = await vmcpResult(testScope(), ['render', join(root, 'examples', 'secrets-env')]);
    expect(rendered.stdout).toContain('DEMO_TOKEN');
    expect(rendered.stdout).not.toContain('token-of-the-example');
  });

  it('host-variables: the server gets the variable of the shell under its own name', async () => {
    const client = await (await startExample(testScope(), 'host-variables', { env: HOST })).client();
    const seen = textOf(await call(client, 'everything_get-env'));
    expect(seen).toContain('"API_TOKEN": "token-of-the-shell"');
    expect(seen).not.toContain('DEMO_API_TOKEN');
    expect(textOf(await call(client, 'memory_read_graph'))).toContain('entities');
    const rendered = await vmcpResult(testScope(), ['render', join(root, 'examples', 'host-variables')], { env: HOST });
    expect(rendered.stdout).toContain('host-variables');
    expect(rendered.stdout).not.toContain('token-of-the-shell');
  });

  it('stdio-isolation: one child per session and one for probes, or one for all', async ({ expect }) => {
    const example = await startExample(testScope(), 'stdio-isolation');
    const [first, second] = [await example.client(), await example.client()];
    for (const client of [first, second]) {
      for (const server of ['per-principal', 'per-session', 'one-for-all']) {
        expect(textOf(await call(client, `${server}_echo`, { message: server }))).toBe(`Echo: ${server}`);
      }
    }
    const running = async () => {
      const children = await example.vmcp.descendants();
      const count = (label: string) => children.filter(({ command }) => command.endsWith(`stdio ${label}`)).length;
      return { principal: count('per-principal'), session: count('per-session'), all: count('one-for-all') };
    };
    await expect.poll(running).toEqual({ principal: 1, session: 3, all: 1 });
  });

  it('resources-and-prompts: URIs are unchanged, prompts have the prefix, completion reaches the server', async () => {
    const client = await (await startExample(testScope(), 'resources-and-prompts')).client();
    const uri = 'demo://resource/static/document/features.md';
    expect((await client.listResources()).resources.map((resource) => resource.uri)).toContain(uri);
    expect((await client.readResource({ uri })).contents[0]).toMatchObject({ uri, mimeType: 'text/markdown' });
    const templated = await client.readResource({ uri: 'demo://resource/dynamic/text/7' });
    expect(templated.contents[0]).toMatchObject({ uri: 'demo://resource/dynamic/text/7' });
    const prompt = await client.getPrompt({ name: 'everything_args-prompt', arguments: { city: 'Oslo' } });
    expect(JSON.stringify(prompt.messages)).toContain('Oslo');
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'everything_completable-prompt' },
      argument: { name: 'department', value: 'S' },
    });
    expect(completion.values).toContain('Sales');
  });

  it.runIf(hasPython)('python-uvx: a server from PyPI answers', { timeout: 300_000 }, pythonUvx);
});

it('kubernetes-replicas: the gateway gets the store of the sessions, with its password in a file', async () => {
  const { code, stdout } = await vmcpResult(testScope(), ['render', join(root, 'examples/kubernetes-replicas')]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    scaling_config: {
      session_kvstore: {
        address: 'redis.example.com:6379',
        password_file: expect.stringMatching(/redis\/password$/u) as string,
        tls: { ca_cert_file: expect.stringMatching(/redis\/ca\.crt$/u) as string },
      },
    },
  });
});

it('kubernetes-single-server: the gateway in the pod requires tokens, decides, limits and records', async () => {
  const text = readFileSync(join(root, 'examples/kubernetes-single-server/server.yaml'), 'utf8');
  expect(JSON.parse(await ownGatewayConfig(testScope(), text))).toMatchObject({
    oidc_config: { issuer: 'https://idp.example.com', audience: 'https://web.example.com/mcp' },
    authz_config: { cedar: { policies: [expect.any(String), expect.stringContaining('get-env')] } },
    rate_limit_config: { perUser: { maxTokens: 60 } },
    audit_config: { enabled: true },
    vmcp: { backends: [{ name: 'web', url: 'http://127.0.0.1:3001/mcp' }] },
  });
});

/** Warnings about ephemeral keys of login examples, and about settings and servers that only a cluster uses. */
const EXPECTED_WARNING =
  /\[(EphemeralKeys|ClusterOnly)\] \(warning\)$|only a cluster serves it.*\[NotUsed\] \(warning\)$|^\d+ warnings?$|^there is no VirtualMCPServer/u;

describe('a program of the examples', () => {
  /** Runs a program of the examples until it ends, with an option or a variable for its port. */
  const run = (program: string, setting: string, port: string) =>
    promisify(execFile)(
      process.execPath,
      [join(root, 'examples', program), ...(setting.startsWith('--') ? ['--port', port] : [])],
      { env: { PORT: port }, timeout: 30_000 },
    ).then(
      () => ({ code: 0, stderr: '' }),
      (error: unknown) => {
        const { code, stderr } = error as { code: number; stderr: string };
        return { code, stderr };
      },
    );

  const PROGRAMS = [
    ['backends/whoami.ts', '--port'],
    ['backends/aws.ts', '--port'],
    ['auth-server-two-providers/chat-provider.ts', '--port'],
    ['identity-provider/main.ts', '--port or --host'],
  ] as const;

  it.each([...PROGRAMS, ['webhooks/receiver.mjs', 'the variable PORT']])('%s names a port in use', async (...of) => {
    const [program, setting] = of;
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    expect(await run(program, setting, port)).toEqual({
      code: 1,
      stderr: `listen EADDRINUSE: address already in use 127.0.0.1:${port}: stop the program that listens there, or choose another with ${setting}\n`,
    });
  });

  it.each(PROGRAMS)('%s names a port that is none', async (program, setting) => {
    expect(await run(program, setting, '65536')).toEqual({
      code: 1,
      stderr: `the port is not a number below 65536: choose another with ${setting}\n`,
    });
  });
});

describe('the folder of examples', () => {
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  const filesOf = (folder: string): string[] => readdirSync(join(root, 'examples', folder));
  const resources = folders.filter((folder) => filesOf(folder).some((file) => file.endsWith('.yaml')));

  it('is complete: every folder has a README and a test', () => {
    const tests = globSync('e2e/{examples,cluster/scenarios}/*.test.ts', { cwd: root });
    const source = tests.map((file) => readFileSync(join(root, file), 'utf8')).join('');
    for (const folder of folders) {
      expect(filesOf(folder), folder).toContain('README.md');
      expect(source, `no test starts with "${folder}: "`).toContain(`'${folder}: `);
    }
  });

  it.each(resources)('%s is valid', async (folder) => {
    const stderr: string[] = [];
    const io = { stdout: { write: () => true }, stderr: { write: (text: string) => stderr.push(text) } };
    const code = await validate([join(root, 'examples', folder)], { hostEnv: HOST }, io);
    const lines = stderr
      .join('')
      .split('\n')
      .filter((line) => line !== '' && !EXPECTED_WARNING.test(line));
    expect({ code, lines }).toEqual({ code: 0, lines: [] });
  });

  it.each(resources)('%s is rendered', async (folder) => {
    const path = join(root, 'examples', folder);
    const { snapshots } = await loadManifests([path], { hostEnv: HOST });
    const vmcps = [...snapshots.values()].flatMap((snapshot) => [...snapshot.vmcps.keys()]);
    for (const name of vmcps.length > 0 ? vmcps : [undefined]) {
      let [stdout, stderr] = ['', ''];
      const io = {
        stdout: { write: (text: string) => ((stdout += text), true) },
        stderr: { write: (text: string) => ((stderr += text), true) },
      };
      const code = await render([path], { hostEnv: HOST, ...(name !== undefined && { name }) }, io);
      expect({ name, code, stderr: code === 0 ? '' : stderr }).toEqual({ name, code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({ schema_version: 'v0.1.0', ...(name !== undefined && { name }) });
    }
  });
});
