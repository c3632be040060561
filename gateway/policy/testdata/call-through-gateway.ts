import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { json } from 'node:stream/consumers';
import { startGateway } from '../../process/gateway.ts';
import { readGatewayConfig } from '../../read-gateway-config.ts';
import { createLog } from '../../telemetry/log.ts';

/** Starts a backend with two tools and a gateway with the policy, and prints lists and calls of a client as JSON. */
const RESULTS: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } },
  'tools/list': { tools: ['buy', 'sell'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
};

const backend = createServer((req, res) => {
  void json(req).then((message) => {
    const { id, method = '' } = message as { id?: number; method?: string };
    if (id === undefined) res.writeHead(202).end();
    else {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[method] ?? { content: [] } }));
    }
  }, () => res.writeHead(405).end());
});
await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
const port = String((backend.address() as AddressInfo).port);

const shop = { name: 'shop', transport: 'streamable-http', url: `http://127.0.0.1:${port}/mcp` };
const configText = (policy: object): string =>
  JSON.stringify({
    schema_version: 'v0.1.0',
    name: 'front',
    runtime_config: policy,
    vmcp: {
      incoming: { type: 'anonymous' },
      backends: [{ ...shop, insecure_allow_http: true, allow_private_ips: true }],
      aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', default_tool_visibility: 'allow' },
      operational: {
        timeouts: { default: '5s' },
        failure_handling: {
          health_check_interval: '30s',
          health_check_timeout: '5s',
          unhealthy_threshold: 3,
          circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
        },
      },
    },
  });

const wrong = readGatewayConfig(configText({ builder_image: 'x'.repeat(30) }));
const right = readGatewayConfig(configText({ builder_image: 'shop_sell' }));
if ('problems' in right) throw new Error(JSON.stringify(right.problems));
const gateway = await startGateway({
  servers: [{ config: right.config, host: '127.0.0.1', port: 0, local: true }],
  management: { host: '127.0.0.1', port: 0 },
  log: createLog(new PassThrough().resume(), 'error'),
  version: '0',
});
const url = gateway.servers[0]?.mcpUrl ?? '';
let session: string | undefined;

async function send(method: string, params: object): Promise<{ status: number; body: unknown }> {
  const headers: Record<string, string> = { accept: 'application/json, text/event-stream' };
  if (session !== undefined) headers['mcp-session-id'] = session;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body });
  session ??= response.headers.get('mcp-session-id') ?? undefined;
  return { status: response.status, body: await response.json() };
}

await send('initialize', { protocolVersion: '2025-11-25' });
console.log(
  JSON.stringify({
    problems: 'problems' in wrong ? wrong.problems.map(({ path }) => path) : [],
    list: (await send('tools/list', {})).body,
    buy: await send('tools/call', { name: 'shop_buy' }),
    sell: await send('tools/call', { name: 'shop_sell' }),
  }),
);
await gateway.stop(0);
backend.closeAllConnections();
backend.close();
