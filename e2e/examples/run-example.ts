import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { root, startVmcp, temporaryFolder, type RunOptions, type Vmcp } from '../harness/vmcp.ts';

/** Port of the first gateway in the examples; the other gateways use the following ports. */
const FIRST_PORT = 4483;

/** A running `vmcp up` of an example. */
export interface RunningExample {
  readonly vmcp: Vmcp;
  /** Returns the MCP URL of the gateway of this name, from the table. */
  url(gateway: string): string;
  /** Connects an SDK client to this gateway, or to the first one; the end of the scope closes it. */
  client(gateway?: string, token?: string): Promise<Client>;
}

export interface ExampleOptions extends RunOptions {
  /** Names of the VirtualMCPServers of the example; the name of the example by default. */
  readonly gateways?: readonly string[];
  /** Ports of the test by fixed port in the example; the ports of gateways are replaced in any case. */
  readonly ports?: Readonly<Record<string, number>>;
}

/** Returns the YAML files of an example with other ports and paths, so that tests do not collide. */
function exampleFiles(name: string, work: string, ports: Readonly<Record<string, number>>): Record<string, string> {
  const folder = join(root, 'examples', name);
  const names = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  return Object.fromEntries(
    names.map((file) => {
      let text = readFileSync(join(folder, file), 'utf8').replaceAll('/tmp/vmcp-', `${work}/`);
      for (const [from, to] of Object.entries(ports))
        text = text.replaceAll(new RegExp(`:${from}\\b`, 'gu'), `:${String(to)}`);
      return [file, text];
    }),
  );
}

/** Parses the table of `up`: MCP URLs by gateway name. */
function readTable(output: string, gateways: readonly string[]): Map<string, string> {
  const urls = new Map<string, string>();
  for (const line of output.split('\n')) {
    const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/u.exec(line)?.[0];
    const name = gateways.find((gateway) => new RegExp(`(^|[\\s/])${gateway}\\s`, 'u').test(line));
    if (url !== undefined && name !== undefined && !urls.has(name)) urls.set(name, url);
  }
  return urls;
}

/** Starts `vmcp up` on the files of `examples/<name>`. The end of the scope sends SIGTERM and expects exit code 0. */
export async function startExample(scope: Scope, name: string, options: ExampleOptions = {}): Promise<RunningExample> {
  const { gateways = [name], ports = {}, ...run } = options;
  const port = await freePort(gateways.length);
  const own = Object.fromEntries(gateways.map((_name, index) => [String(FIRST_PORT + index), port + index]));
  const files = exampleFiles(name, await temporaryFolder(scope), { ...own, ...ports });
  const vmcp = await startVmcp(scope, { files, port, ...run });
  scope.defer(async () => {
    expect(await vmcp.stop(), 'after SIGTERM').toMatchObject({ code: 0 });
  });
  const urls = await eventually(`the table names ${gateways.join(', ')}`, () => {
    const table = readTable(vmcp.stdout(), gateways);
    return table.size === gateways.length && table;
  });
  const url = (gateway: string): string => urls.get(gateway) ?? expect.fail(`no gateway "${gateway}" in the table`);
  return {
    vmcp,
    url,
    async client(gateway = gateways[0] ?? name, token) {
      const client = new Client({ name: 'examples', version: '1.0.0' });
      const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url(gateway)), { requestInit }));
      scope.defer(() => client.close());
      return client;
    },
  };
}

/** Starts `examples/backends/whoami.ts` as a process and returns its port. */
export async function startWhoami(scope: Scope, name: string, flags: readonly string[] = []): Promise<number> {
  const port = await freePort();
  const main = join(root, 'examples', 'backends', 'whoami.ts');
  const child = spawn(process.execPath, [main, '--name', name, '--port', String(port), ...flags], { stdio: 'ignore' });
  await answers(scope, child, port);
  return port;
}

/** Starts the stand-in for AWS of the examples as a process and returns its port. */
export async function startAws(scope: Scope, flags: readonly string[]): Promise<number> {
  const port = await freePort();
  const main = join(root, 'examples', 'backends', 'aws.ts');
  await answers(scope, spawn(process.execPath, [main, '--port', String(port), ...flags], { stdio: 'ignore' }), port);
  return port;
}

/** Starts the chat provider of `examples/auth-server-two-providers` as a process and returns its port. */
export async function startChatProvider(scope: Scope): Promise<number> {
  const port = await freePort();
  const main = join(root, 'examples', 'auth-server-two-providers', 'chat-provider.ts');
  await answers(scope, spawn(process.execPath, [main, '--port', String(port)], { stdio: 'ignore' }), port);
  return port;
}

/** Starts the receiver of `examples/webhooks` as a process with this key and returns its port. */
export async function startReceiver(scope: Scope, key: string): Promise<number> {
  const port = await freePort();
  const main = join(root, 'examples', 'webhooks', 'receiver.mjs');
  const env = { PORT: String(port), WEBHOOK_KEY: key };
  await answers(scope, spawn(process.execPath, [main], { env, stdio: 'ignore' }), port);
  return port;
}

/** Waits until the process listens; the end of the scope kills it. */
async function answers(scope: Scope, child: ChildProcess, port: number): Promise<void> {
  scope.defer(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await eventually(`something answers on port ${port}`, async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await response.body?.cancel();
    return true;
  });
}

/** Starts `server-everything` over HTTP as a process, like the READMEs, and returns its port. */
export async function startEverything(scope: Scope, mode: 'streamableHttp' | 'sse'): Promise<number> {
  const port = await freePort();
  const main = join(root, 'node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');
  const child = spawn(process.execPath, [main, mode], { env: { PORT: String(port) }, stdio: 'ignore' });
  await answers(scope, child, port);
  return port;
}
