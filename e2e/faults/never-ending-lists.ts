import type { Exchange, McpServer } from './mcp-server.ts';

const PAGE_BYTES = 4 * 1024 * 1024;

let last = 0;

const endless =
  (cursor: () => string, description: string) =>
  (exchange: Exchange): boolean => {
    if (exchange.message.method !== 'tools/list') return false;
    const nextCursor = cursor();
    const tool = { name: `tool-${nextCursor}`, description, inputSchema: { type: 'object' } };
    exchange.result({ tools: [tool], nextCursor });
    return true;
  };

/** Servers with an endless `tools/list`; all other answers are correct. */
export const neverEndingLists: readonly [string, NonNullable<McpServer['intercept']>][] = [
  ['turns in a circle of pages', endless(() => 'again', '')],
  ['names a new cursor on every page of 4 MiB', endless(() => String((last += 1)), 'x'.repeat(PAGE_BYTES))],
];
