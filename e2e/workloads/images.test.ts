import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { workingEngine } from '../../gateway/workloads/runner/testdata/engine.ts';
import { connectV1 } from '../harness/clients/sdk-v1.ts';
import { openSession, textOf } from '../harness/clients/raw.ts';
import { configMap, gatewayOver, server } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { root, startVmcp, temporaryFolder, writeFiles } from '../harness/vmcp.ts';
import { callTool, serveWorkloads } from './serve-workloads.ts';

const IMAGE = 'localhost/vmcp-test-workload:1';

/** MCP server of the SDK with the tool `look`, over stdio or, with PORT, over streamable HTTP. */
const SOURCE = `
  import { readFileSync, writeFileSync } from 'node:fs';
  import { createServer, get } from 'node:http';
  import { networkInterfaces } from 'node:os';
  import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
  import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
  import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
  const statusThroughProxy = (path) => new Promise((resolve) => {
    const { hostname, port } = new URL(process.env.HTTP_PROXY);
    get({ hostname, port, path }, (reply) => resolve(reply.resume().statusCode)).on('error', ({ code }) => resolve(code));
  });
  const create = () => {
    const server = new McpServer({ name: 'observer', version: '1.0.0' });
    server.registerTool('look', { description: 'Describes the container.' }, async () => {
      const reached = await statusThroughProxy('http://169.254.169.254/');
      const seen = { mode: process.env.MODE, interfaces: Object.keys(networkInterfaces()), reached, args: process.argv.slice(2) };
      return { content: [{ type: 'text', text: JSON.stringify(seen) }] };
    });
    server.registerTool('write', { description: 'Writes to a file of each folder.' }, async () => {
      const results = ['/in', '/out'].map((folder) => {
        try {
          writeFileSync(folder + '/note', readFileSync('/in/source', 'utf8'));
          return 'written';
        } catch ({ code }) {
          return code;
        }
      });
      return { content: [{ type: 'text', text: JSON.stringify(results) }] };
    });
    return server;
  };
  process.on('SIGTERM', () => process.exit(0));
  if (!process.env.PORT) void create().connect(new StdioServerTransport());
  else createServer((req, res) => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    res.once('close', () => void transport.close());
    void create().connect(transport).then(() => transport.handleRequest(req, res));
  }).listen(Number(process.env.PORT), process.env.HOST);`;

function bundle(): string {
  const stdin = { contents: SOURCE, resolveDir: root, loader: 'js' as const };
  const options = { bundle: true, write: false as const, platform: 'node' as const, format: 'cjs' as const };
  return buildSync({ stdin, ...options }).outputFiles[0]?.text ?? '';
}

const scratch = mkdtempSync(join(tmpdir(), 'vmcp-images-'));
const { name: engine, env } = workingEngine(scratch, { image: IMAGE, server: bundle() });
afterAll(() => {
  if (engine !== undefined) spawnSync(engine, ['rmi', '-f', IMAGE], { env });
  rmSync(scratch, { recursive: true, force: true });
});

/** Environment with the images of this user. */
const engineEnv = Object.fromEntries(
  ['HOME', 'XDG_RUNTIME_DIR', 'CONTAINERS_CONF'].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);

const containersOf = (workload: string): string[] =>
  execFileSync(
    engine ?? '',
    ['ps', '-a', '--format', '{{.Names}}', '--filter', `label=dev.vmcp.workload=${workload}`],
    { encoding: 'utf8', env },
  )
    .split('\n')
    .filter(Boolean);

describe.runIf(engine)(`images under ${engine ?? 'an engine'}`, () => {
  it.each(['stdio', 'streamable-http'])(
    'runs an isolated image over %s: create, edit, restart, delete',
    async (transport) => {
      const state = await temporaryFolder(testScope());
      const serve = await serveWorkloads(testScope(), state, engineEnv);
      const { send } = serve;
      const name = `seen-${transport}`;
      const look = async (): Promise<unknown> => JSON.parse(await callTool((await serve.find(name)).url, 'look', {}));
      const settings = { name, image: IMAGE, transport, env_vars: { MODE: 'one' }, cmd_arguments: ['--flag'] };
      expect(await send('POST', '/workloads', settings)).toMatchObject({ status: 201 });
      await serve.reaches(name, 'running');
      // the network has loopback only, and the proxy refuses link-local addresses
      const isolated = { interfaces: ['lo'], reached: 403, args: ['--flag'] };
      expect(await look()).toEqual({ ...isolated, mode: 'one' });
      if (transport === 'streamable-http') expect(containersOf(name)).toHaveLength(2); // the server and its relay
      const { client, close } = await connectV1({ transport: 'streamable-http', url: (await serve.find(name)).url });

      expect((await send('POST', `/workloads/${name}/edit`, { env_vars: { MODE: 'two' } })).status).toBe(200);
      await eventually('the edit is applied', async () => ((await look()) as { mode: string }).mode === 'two', {
        timeoutMs: 60_000,
      });
      expect(await look()).toEqual({ ...isolated, mode: 'two' });
      expect(await client.callTool({ name: 'look', arguments: {} })).toMatchObject({
        content: [{ text: expect.stringContaining('"mode":"two"') as string }],
      });
      await close();

      const { started_at: before } = await serve.find(name);
      expect((await send('POST', `/workloads/${name}/restart`)).status).toBe(202);
      await eventually('it has restarted', async () => (await serve.find(name)).started_at !== before);
      await serve.reaches(name, 'running');
      expect(await look()).toEqual({ ...isolated, mode: 'two' });

      expect((await send('DELETE', `/workloads/${name}`)).status).toBe(202);
      await eventually('it is deleted', async () => (await serve.list()).length === 0);
      expect(containersOf(name)).toEqual([]);
      expect(readdirSync(join(state, 'networks'))).toEqual([]);
    },
  );

  it('runs the images of an MCPServer with the access of its profile', async () => {
    const scope = testScope();
    const [source, target] = [await temporaryFolder(scope), await temporaryFolder(scope)];
    await writeFiles(source, { source: 'from this machine' });
    const profile = {
      read: [`${source}:/in`],
      write: [`${target}:/out`],
      network: { outbound: { allow_host: ['example.com'] } },
    };
    const limited = { permissionProfile: { type: 'configmap', name: 'profiles', key: 'files.json' } };
    const files = gatewayOver([
      configMap('profiles', { 'files.json': JSON.stringify(profile) }),
      server('files', IMAGE, limited),
      server('closed', IMAGE, { transport: 'streamable-http', permissionProfile: { name: 'none' } }),
      server('open', IMAGE, { permissionProfile: { name: 'network' } }),
    ]);
    const vmcp = await startVmcp(scope, { files, env: engineEnv });
    const session = await openSession(vmcp.url);
    await eventually(
      'all are listed',
      async () => (await session.tools()).filter((tool) => tool.endsWith('_look')).length === 3,
    );
    const look = async (name: string): Promise<unknown> => JSON.parse(textOf(await session.call(`${name}_look`)));
    expect(await look('files')).toMatchObject({ interfaces: ['lo'], reached: 403 });
    expect(await look('closed')).toMatchObject({ interfaces: ['lo'], reached: 403 });
    expect(textOf(await session.call('open_look'))).toBe('Invalid URL'); // no proxy
    expect(JSON.parse(textOf(await session.call('files_write')))).toEqual(['EROFS', 'written']);
    expect(readFileSync(join(target, 'note'), 'utf8')).toBe('from this machine');
    await session.end();
  });

  it('rejects an image that does not exist, and stores nothing', async () => {
    const serve = await serveWorkloads(testScope(), await temporaryFolder(testScope()), engineEnv);
    const { send } = serve;
    const unreachable = '127.0.0.1:9/none/such:1';
    for (const image of [unreachable, 'localhost/vmcp-test-none-such:1']) {
      const { status, text } = await send('POST', '/workloads', { name: 'absent', image });
      expect([404, 503]).toContain(status);
      expect(text).toContain(image);
      expect(text).toContain('check its name');
    }
    expect(await serve.list()).toEqual([]);

    await send('POST', '/workloads', { name: 'seen', image: IMAGE, env_vars: { MODE: 'one' } });
    await serve.reaches('seen', 'running');
    expect([404, 503]).toContain((await send('POST', '/workloads/seen/edit', { image: unreachable })).status);
    expect((await send('GET', '/workloads/seen')).json).toMatchObject({ image: IMAGE });
    expect(await callTool((await serve.find('seen')).url, 'look', {})).toContain('"mode":"one"');
  });
});
