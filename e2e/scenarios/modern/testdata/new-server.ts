import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A server of SDK 2.x; its tools ask for input. */
export function newServer(): McpServer {
  const server = new McpServer({ name: 'new', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  server.registerTool('ask', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
    const who = acceptedContent(mcpReq.inputResponses, 'who', z.object({ name: z.string() }));
    if (who) return { content: [{ type: 'text', text: `hello ${who.name}` }] };
    const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
    return inputRequired({
      inputRequests: {
        who: inputRequired.elicit({ message: 'who?', requestedSchema }),
        city: inputRequired.createMessage({ messages: [], maxTokens: 5 }),
      },
    });
  });
  return server;
}
