import { printable } from '../../../gateway/contract/text/printable.ts';
import { cut, renderTable } from '../table.ts';
import type { Tool } from '../client/mcp-session.ts';

/** A tool with the backend that serves it, if that is known. */
export interface OwnedTool {
  readonly tool: Tool;
  readonly backend: string | undefined;
}

/** Least width of a description, on a narrow terminal too. */
const LEAST_DESCRIPTION = 20;

/** Adds the backends, by the default prefix of tool names, and sorts by name. The longest name that fits is the owner. */
export function ownedTools(tools: readonly Tool[], backends: readonly string[]): OwnedTool[] {
  const longestFirst = backends.toSorted((a, b) => b.length - a.length);
  return tools
    .map((tool) => ({ tool, backend: longestFirst.find((backend) => hasPrefix(tool.name, backend)) }))
    .toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
}

/** Returns true when the name of a tool starts with that of a backend and a separator. */
const hasPrefix = (tool: string, backend: string): boolean =>
  tool.startsWith(backend) && /^[_./-]/u.test(tool.slice(backend.length));

/** Renders NAME, BACKEND and DESCRIPTION. Descriptions end where the terminal does; without a terminal they are complete. */
export function toolTable(tools: readonly OwnedTool[], columns: number | undefined): string {
  const rows = tools.map(({ tool, backend }) => [printable(tool.name), backend ?? '-', description(tool)]);
  const [header = '', ...lines] = renderTable([['NAME', 'BACKEND', 'DESCRIPTION'], ...rows]);
  const width = Math.max(columns ?? Infinity, header.indexOf('DESCRIPTION') + LEAST_DESCRIPTION);
  return [header, ...lines].map((line) => `${cut(line, width)}\n`).join('');
}

const description = (tool: Tool): string => {
  const text = tool['description'] ?? tool['title'];
  return typeof text === 'string' ? printable(text.trim().replaceAll(/\s+/gu, ' ')) : '';
};
