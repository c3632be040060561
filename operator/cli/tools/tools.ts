import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { withSession, type SessionFlags } from '../client/with-session.ts';
import { missingTools, readBackends } from './backends.ts';
import { columnsOf } from '../table.ts';
import { checkText, checkTools, type ToolCheck } from './model-check.ts';
import { ownedTools, toolTable, type OwnedTool } from './tool-table.ts';

export interface ToolsFlags extends SessionFlags {
  readonly output?: 'json';
  /** Checks the tools against the rules of model APIs, and prints the result in place of the tools. */
  readonly check?: boolean;
}

/**
 * `vmcp tools [SERVER]`: exits with 0, or with 1 when the gateway or the server cannot be reached, and with `--check` when an API
 * would reject a tool.
 */
export const tools = (server: string | undefined, flags: ToolsFlags): Promise<number> =>
  withSession(flags, async (session, managementUrl) => {
    const [listed, states] = await Promise.all([session.tools(), readBackends(managementUrl)]);
    const backends = [...new Set(states.map(({ name }) => name))].toSorted();
    const missing = missingTools(states.filter(({ name }) => server === undefined || name === server));
    const all = ownedTools(listed, server === undefined ? backends : [...backends, server]);
    const chosen = server === undefined ? all : all.filter(({ backend }) => backend === server);
    if (server !== undefined && chosen.length === 0) {
      const known = backends.length > 0 ? `: the servers are ${backends.join(', ')}` : '';
      process.stderr.write(missing === '' ? `no tool belongs to "${server}"${known}\n` : missing);
      return 1;
    }
    if (flags.check === true) {
      process.stderr.write(missing);
      return printCheck(checkTools(chosen.map(({ tool }) => tool)), flags.output);
    }
    process.stdout.write(flags.output === 'json' ? toJson(chosen) : toolTable(chosen, columnsOf(process.stdout)));
    process.stderr.write(missing);
    return 0;
  });

function printCheck(check: ToolCheck, output: 'json' | undefined): number {
  process.stdout.write(output === 'json' ? `${jsonText(check, 2)}\n` : checkText(check));
  return check.rejected > 0 ? 1 : 0;
}

const toJson = (owned: readonly OwnedTool[]): string =>
  `${jsonText({ tools: owned.map(({ tool, backend }) => ({ ...tool, ...(backend !== undefined && { backend }) })) }, 2)}\n`;
