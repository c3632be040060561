import { startRegistry } from '../../gateway/workloads/runner/testdata/npm-registry.ts';
import type { Scope } from '../harness/scope.ts';

/** MCP server without dependencies. Its first argument is its fault; it serves HTTP when PORT is set, else stdio. */
export const SCRIPTED_SOURCE = `#!/usr/bin/env node
const [fault = ''] = process.argv.slice(2);
console.error('pid ' + process.pid);
const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
const result = ({ method, params }) => {
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };
  return method === 'tools/list' ? { tools } : method === 'tools/call' ? { content: [] } : {};
};
const answer = (text) => {
  const message = JSON.parse(text);
  return message.id === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id: message.id, result: result(message) });
};
if (fault === 'crash') { console.error('it ends now'); process.exit(3); }
if (fault === 'deaf') process.on('SIGTERM', () => console.error('SIGTERM ignored'));
if (fault === 'loud') {
  const line = 'x'.repeat(99) + String.fromCharCode(10);
  const block = line.repeat(10000);
  let left = 100;
  const print = () => { if (left-- > 0) process.stderr.write(block, print); else console.error('the last line'); };
  print();
}
if (fault === 'closed') setInterval(() => undefined, 1000);
else if (process.env.PORT === undefined) {
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const reply = answer(line);
    if (reply) console.log(reply);
  });
  if (fault === 'deaf') setInterval(() => undefined, 1000);
} else require('node:http').createServer((request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  let text = '';
  request.on('data', (chunk) => (text += chunk)).on('end', () => {
    const reply = answer(text);
    if (reply) response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
    else response.writeHead(202).end();
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
`;

/** Image of the scripted server. Its first argument is `crash`, `deaf`, `loud` or `closed`. */
export const SCRIPTED = 'npx://scripted-server';

const PUBLISHED = {
  name: 'scripted-server',
  version: '1.0.0',
  bin: { 'scripted-server': 'server.js' },
  files: { 'server.js': SCRIPTED_SOURCE },
};

/** Publishes the scripted server. Returns the environment of a vmcp that installs it. */
export async function publishScripted(scope: Scope): Promise<Record<string, string>> {
  const registry = await startRegistry([PUBLISHED]);
  scope.defer(registry.close);
  return { npm_config_registry: registry.url };
}

/** Publishes it in a registry whose replies to paths of `stalls` never end. `downloads` lists these paths. */
export async function publishStalled(scope: Scope, stalls: (path: string) => boolean) {
  const { url, downloads, close } = await startRegistry([PUBLISHED], stalls);
  scope.defer(close);
  return { env: { npm_config_registry: url }, downloads };
}
