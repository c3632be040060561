import { withSession, type SessionFlags } from '../client/with-session.ts';
import { readManagement } from '../status/management.ts';
import { ownedTools, toolTable, type OwnedTool } from './tool-table.ts';

export interface ToolsFlags extends SessionFlags {
  readonly output?: 'json';
}

const WITHOUT_TERMINAL = 80;

/** `vmcp tools [SERVER]`: exits with 0, or with 1 when the gateway or the server cannot be reached. */
export const tools = (server: string | undefined, flags: ToolsFlags): Promise<number> =>
  withSession(flags, async (session, managementUrl) => {
    const [listed, backends] = await Promise.all([session.tools(), backendNames(managementUrl)]);
    const all = ownedTools(listed, server === undefined ? backends : [...backends, server]);
    const chosen = server === undefined ? all : all.filter(({ backend }) => backend === server);
    if (server !== undefined && chosen.length === 0) {
      const known = backends.length > 0 ? `: the servers are ${backends.join(', ')}` : '';
      process.stderr.write(`no tool belongs to "${server}"${known}\n`);
      return 1;
    }
    process.stdout.write(
      flags.output === 'json' ? toJson(chosen) : toolTable(chosen, process.stdout.columns || WITHOUT_TERMINAL),
    );
    return 0;
  });

/** Returns the names of the backends; none when only the MCP URL is known. */
async function backendNames(managementUrl: string | undefined): Promise<string[]> {
  if (managementUrl === undefined) return [];
  const servers = await readManagement(managementUrl).catch(() => []);
  return [...new Set(servers.flatMap(({ backends }) => backends.map(({ name }) => name)))].toSorted();
}

const toJson = (owned: readonly OwnedTool[]): string =>
  `${JSON.stringify({ tools: owned.map(({ tool, backend }) => ({ ...tool, ...(backend !== undefined && { backend }) })) }, null, 2)}\n`;
