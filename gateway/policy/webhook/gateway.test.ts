import { PassThrough } from 'node:stream';
import { json } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { VMCP } from '../../contract/testdata/vmcp-config.ts';
import { startGateway, type ServerSpec } from '../../process/gateway.ts';
import { onEnd, serve } from '../../outbound/testdata/servers.ts';
import { readGatewayConfig } from '../../read-gateway-config.ts';
import { createLog } from '../../telemetry/log.ts';

const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'shop', version: '1' },
};
const TOOLS = { tools: [{ name: 'buy', inputSchema: { type: 'object' } }] };

/** Starts an MCP server whose tool returns its arguments, and returns its URL. */
async function shop(): Promise<string> {
  const { port } = await serve((req, res) => {
    void json(req).then((message) => {
      const { id, method, params } = message as { id?: number; method: string; params?: { arguments?: object } };
      const result = { initialize: INITIALIZED, 'tools/list': TOOLS }[method] ?? { args: params?.arguments };
      if (id === undefined) res.writeHead(202).end();
      else {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      }
    }, () => res.writeHead(405).end()); // oxfmt-ignore
  });
  return `http://127.0.0.1:${String(port)}/mcp`;
}

/** Reads a bare configuration as `vmcp gateway --config` does. */
function specOf(url: string, webhooks: object): ServerSpec {
  const backends = [{ name: 'shop', transport: 'streamable-http', url, insecure_allow_http: true }];
  const config = { schema_version: 'v0.1.0', name: 'front', ...webhooks, vmcp: { ...VMCP, backends } };
  const read = readGatewayConfig(JSON.stringify(config));
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return { config: read.config, host: '127.0.0.1', port: 0, local: true };
}

async function start(spec: ServerSpec) {
  const gateway = await startGateway({
    servers: [spec],
    management: { host: '127.0.0.1', port: 0 },
    log: createLog(new PassThrough().resume(), 'error'),
    version: '0',
  });
  onEnd(() => gateway.stop(0));
  const url = gateway.servers[0]?.mcpUrl ?? '';
  let session: string | undefined;
  const send = async (method: string, params: object): Promise<unknown> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    session ??= response.headers.get('mcp-session-id') ?? undefined;
    return response.json();
  };
  await send('initialize', { protocolVersion: '2025-11-25' });
  return { gateway, buy: (args: object) => send('tools/call', { name: 'shop_buy', arguments: args }) };
}

it('asks the webhooks of a bare configuration, counts them, and follows a new configuration', async () => {
  const asked = Promise.withResolvers<undefined>();
  const release = Promise.withResolvers<undefined>();
  const { port } = await serve((req, res) => {
    void json(req).then(async (body) => {
      asked.resolve(undefined);
      await release.promise;
      const { uid } = body as { uid: string };
      const patch = [{ op: 'add', path: '/mcp_request/params/arguments/checked', value: true }];
      res.end(JSON.stringify({ uid, allowed: true, patch_type: 'json_patch', patch }));
    });
  });
  const backend = await shop();
  const hook = { name: 'review', url: `http://127.0.0.1:${String(port)}/` };
  const { gateway, buy } = await start(specOf(backend, { mutating_webhooks: [hook] }));
  const waiting = buy({ amount: 1 });
  await asked.promise;
  await gateway.swap([specOf(backend, {})]);
  expect(await buy({ amount: 2 })).toMatchObject({ result: { args: { amount: 2 } } });
  release.resolve(undefined);
  expect(await waiting).toMatchObject({ result: { args: { amount: 1, checked: true } } });
  const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text();
  expect(metrics).toMatch(
    /^vmcp_webhook_request_duration_seconds_count\{server="[^"]*front",webhook="review",type="mutating",outcome="mutated"\} 1$/mu,
  );
});
