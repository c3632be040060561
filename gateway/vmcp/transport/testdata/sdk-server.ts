import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const server = new McpServer({ name: 'fixture', version: '1.2.3' }, { capabilities: { logging: {} }, instructions: 'hi' });
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => text(args.text));
server.registerTool('pid', {}, () => text(String(process.pid)));
server.registerTool('capabilities', {}, () => text(JSON.stringify(server.server.getClientCapabilities())));
server.registerTool('wait', { inputSchema: { ms: z.number() } }, async ({ ms }, { signal }) => {
  await sleep(ms, undefined, { signal }).catch(() => process.stderr.write('wait was cancelled\n'));
  return text('waited');
});
server.registerTool('progress', { inputSchema: { steps: z.number() } }, async ({ steps }, { _meta, sendNotification }) => {
  const progressToken = _meta?.progressToken ?? -1;
  for (let progress = 1; progress <= steps; progress += 1)
    await sendNotification({ method: 'notifications/progress', params: { progressToken, progress } });
  return text(String(progressToken));
});
server.registerTool('log', {}, async () => {
  await server.sendLoggingMessage({ level: 'info', data: 'from the tool' });
  return text('logged');
});
server.registerTool('ask', {}, async ({ sendRequest }) => {
  const params = { message: 'who?', requestedSchema: { type: 'object' as const, properties: {} } };
  const { action } = await sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
  return text(action);
});
server.registerTool('grow', {}, () => {
  server.registerTool(`grown-${String(Date.now())}`, {}, () => text(''));
  return text('grown');
});

await server.connect(new StdioServerTransport());
