import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const PAGE = 2;
const numbers = [1, 2, 3, 4, 5];

export const PAGED_TOOLS = numbers.map((number) => `page_${number}`);
export const pagedUris = (name: string): string[] => numbers.map((number) => `paged://${name}/${number}`);

/** Returns two items, with the number of the next item as the cursor. */
function page<T>(items: readonly T[], cursor: string | undefined): { items: T[]; nextCursor?: string } {
  const from = Number(cursor ?? 0);
  const next = from + PAGE;
  return { items: items.slice(from, next), ...(next < items.length && { nextCursor: String(next) }) };
}

/** Returns a server whose lists have pages of two items, on the low-level class of SDK 1.x. */
export function pagedServer(name: string): Server {
  const capabilities = { tools: {}, resources: {}, prompts: {} };
  const server = new Server({ name: `paged-${name}`, version: '1.0.0' }, { capabilities });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const tools = PAGED_TOOLS.map((tool) => ({ name: tool, inputSchema: { type: 'object' as const } }));
    const { items, ...rest } = page(tools, params?.cursor);
    return { tools: items, ...rest };
  });
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const { items, ...rest } = page(pagedUris(name), params?.cursor);
    return { resources: items.map((uri) => ({ uri, name: uri })), ...rest };
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, ({ params }) => {
    const { items, ...rest } = page(pagedUris(name), params?.cursor);
    return { resourceTemplates: items.map((uri) => ({ uriTemplate: `${uri}/{id}`, name: uri })), ...rest };
  });
  server.setRequestHandler(ListPromptsRequestSchema, ({ params }) => {
    const { items, ...rest } = page(PAGED_TOOLS, params?.cursor);
    return { prompts: items.map((prompt) => ({ name: prompt })), ...rest };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: `called ${params.name}` }],
  }));
  return server;
}
