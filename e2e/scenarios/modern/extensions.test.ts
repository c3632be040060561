import { createMcpHandler, McpServer as SdkServer } from '@modelcontextprotocol/server';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startMcpServer, type Exchange, type McpServer } from '../../faults/mcp-server.ts';
import { answerWith } from '../../harness/backends/fetch.ts';
import { hostBackend, type HttpBackend } from '../../harness/backends/host.ts';
import { initializeRequest, MCP_HEADERS, openSession, raw, rpcReply } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, type Scope } from '../../harness/scope.ts';
import { startVmcp, type Vmcp } from '../../harness/vmcp.ts';
import { send } from './testdata/modern-request.ts';

const APPS = 'io.modelcontextprotocol/ui';
const MIME_TYPE = 'text/html;profile=mcp-app';
const APP = 'ui://widget/main.html';
const capabilities = { extensions: { [APPS]: { mimeTypes: [MIME_TYPE] }, 'com.example/own': {} } };

const html = (name: string): string => `<!doctype html><title>${name}</title>`;

/** Starts a server of 2025-11-25 with an app that only its tool names. */
function startOldServer(scope: Scope, name: string): Promise<McpServer> {
  return startMcpServer(scope, name, {
    capabilities: { tools: {}, resources: {}, extensions: { 'com.example/own': {}, [APPS]: {} } },
    methods: {
      'tools/list': ({ result }: Exchange) => {
        const _meta = { ui: { resourceUri: APP, visibility: ['model', 'app'] } };
        result({ tools: [{ name: 'show', inputSchema: { type: 'object' }, _meta }] });
      },
      'resources/list': ({ result }: Exchange) => {
        result({ resources: [] });
      },
      'resources/templates/list': ({ result }: Exchange) => {
        result({ resourceTemplates: [] });
      },
      'resources/read': ({ message, result, error }: Exchange) => {
        const uri = message.params?.['uri'];
        const _meta = { ui: { csp: { connectDomains: ['https://api.example'] } } };
        if (uri === APP) result({ contents: [{ uri, mimeType: MIME_TYPE, text: html(name), _meta }] });
        else error(-32002, 'unknown', { uri });
      },
    },
  });
}

/** Starts a server of SDK 2.x with a listed app, and a tool that has it only for clients that can show apps. */
function startNewServer(scope: Scope, name: string): Promise<HttpBackend> {
  const handler = createMcpHandler(
    () => {
      const server = new SdkServer({ name, version: '1.0.0' }, { capabilities: { extensions: { [APPS]: {} } } });
      const meta = { ui: { resourceUri: APP } };
      server.registerTool('show', { inputSchema: z.object({}), _meta: meta }, (_, { mcpReq }) => ({
        content: [{ type: 'text', text: JSON.stringify(mcpReq.envelope) }],
      }));
      server.registerResource('main', APP, { mimeType: MIME_TYPE }, () => ({
        contents: [{ uri: APP, mimeType: MIME_TYPE, text: html(name) }],
      }));
      return server;
    },
    { legacy: 'reject' },
  );
  return hostBackend(scope, '/mcp', (req, res, body) => answerWith(handler.fetch, req, res, body));
}

const scope = blockScope();
let older: McpServer;
let newer: HttpBackend;
let vmcp: Vmcp;

beforeAll(async () => {
  [older, newer] = await Promise.all([startOldServer(scope, 'older'), startNewServer(scope, 'newer')]);
  vmcp = await startVmcp(scope, { files: gatewayOver([entry('newer', newer.url), entry('older', older.url)]) });
  const session = await openSession(vmcp.url);
  await eventually('both servers are listed', async () => (await session.tools()).length === 2);
});

interface Listed {
  readonly tools: readonly {
    readonly name: string;
    readonly _meta: { readonly ui: { readonly resourceUri: string } };
  }[];
}

const apps = ({ tools }: Listed): Record<string, string> =>
  Object.fromEntries(tools.map(({ name, _meta }) => [name, _meta.ui.resourceUri]));

describe('apps of two servers with the same URI', () => {
  it.each(['with a session', 'without a session'])('are those of their tools, for a client %s', async (kind) => {
    const session = await openSession(vmcp.url);
    const ask = (method: string, params: Record<string, unknown> = {}) =>
      kind === 'with a session' ? session.request(method, params) : send(vmcp.url, method, params);
    const uris = apps((await ask('tools/list')).result as unknown as Listed);
    expect(uris).toEqual({ newer_show: APP, older_show: 'ui://older/widget/main.html' });
    for (const [tool, uri] of Object.entries(uris)) {
      const { contents } = (await ask('resources/read', { uri })).result as { contents: object[] };
      expect(contents).toMatchObject([{ uri, mimeType: MIME_TYPE, text: html(tool.slice(0, 5)) }]);
      if (tool === 'older_show')
        expect(contents).toMatchObject([{ _meta: { ui: { csp: { connectDomains: ['https://api.example'] } } } }]);
    }
    const { resources } = (await ask('resources/list')).result as { resources: object[] };
    expect(resources).toMatchObject([{ uri: APP, mimeType: MIME_TYPE }]);
  });

  it('are declared to clients of both eras', async () => {
    const reply = rpcReply(await raw(vmcp.url, { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() }));
    expect(reply.result).toMatchObject({ capabilities: { extensions: { [APPS]: {} } } });
    const discovered = await send(vmcp.url, 'server/discover');
    expect(discovered.result?.['capabilities']).toMatchObject({ extensions: { [APPS]: {} } });
    for (const { result } of [reply, discovered]) expect(JSON.stringify(result)).not.toContain('com.example');
  });
});

describe('the extensions of a client', () => {
  const declared = { [APPS]: { mimeTypes: [MIME_TYPE] } };

  it('reach a server without sessions with each request, as far as the gateway knows them', async () => {
    const { result } = await send(vmcp.url, 'tools/call', { name: 'newer_show', arguments: {} }, { capabilities });
    const call = newer.seen.findLast(({ method }) => method === 'tools/call');
    expect(result).toMatchObject({ content: [{ type: 'text' }] });
    expect(JSON.parse(call?.body ?? '')).toMatchObject({
      params: { _meta: { 'io.modelcontextprotocol/clientCapabilities': { extensions: declared } } },
    });
    expect(call?.body).not.toContain('com.example');
  });

  it('reach a server with sessions when a session opens there', async () => {
    const body = initializeRequest(undefined, capabilities);
    const opened = await raw(vmcp.url, { method: 'POST', headers: MCP_HEADERS, body });
    const headers = { ...MCP_HEADERS, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const call = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"older_show","arguments":{}}}';
    await raw(vmcp.url, { method: 'POST', headers, body: call });
    const seen = older.seen
      .filter(({ method }) => method === 'initialize')
      .map((each) => JSON.parse(each.body) as object);
    expect(seen.at(-1)).toMatchObject({ params: { capabilities: { extensions: declared } } });
    expect(JSON.stringify(seen)).not.toContain('com.example');
  });

  it('include apps when the gateway reads the lists', () => {
    const opening = older.seen.find(({ method }) => method === 'initialize');
    expect(JSON.parse(opening?.body ?? '')).toMatchObject({ params: { capabilities: { extensions: declared } } });
    const listing = newer.seen.find(({ method }) => method === 'tools/list');
    expect(JSON.parse(listing?.body ?? '')).toMatchObject({
      params: { _meta: { 'io.modelcontextprotocol/clientCapabilities': { extensions: declared } } },
    });
  });
});

it('an extension that the gateway does not know is logged once and in the status', async () => {
  const lines = () =>
    vmcp
      .output()
      .split('\n')
      .filter((line) => line.includes('CapabilityNotServed'));
  await eventually('the warning is logged', () => lines().length > 0);
  expect(lines()).toHaveLength(1);
  expect(lines()[0]).toContain('com.example/own');
  const { problems } = (await (await fetch(`${vmcp.management}/status`)).json()) as { problems: object[] };
  expect(problems).toMatchObject([{ reason: 'CapabilityNotServed', backend: 'older' }]);
});
