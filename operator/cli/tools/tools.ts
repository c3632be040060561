import { jsonText, printable } from '../../../gateway/contract/text/printable.ts';
import { withSession, type SessionFlags } from '../client/with-session.ts';
import { missingTools, readBackends } from './backends.ts';
import { columnsOf, cut, renderTable } from '../table.ts';
import type { Tool } from '../client/mcp-session.ts';
import { brokenByTool, modelFindings, type ModelFinding } from '../../../gateway/contract/model-apis/rules.ts';
import { MODEL_FAMILIES, type ModelFamily } from '../../../gateway/contract/model-apis/rules.ts';
import { count } from '../validate/problems-output.ts';
import { EXIT } from '../exit.ts';

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
      return EXIT.failed;
    }
    if (flags.check === true) {
      process.stderr.write(missing);
      return printCheck(checkTools(chosen.map(({ tool }) => tool)), flags.output);
    }
    process.stdout.write(flags.output === 'json' ? toJson(chosen) : toolTable(chosen, columnsOf(process.stdout)));
    process.stderr.write(missing);
    return EXIT.done;
  });

function printCheck(check: ToolCheck, output: 'json' | undefined): number {
  process.stdout.write(output === 'json' ? `${jsonText(check, 2)}\n` : checkText(check));
  return check.rejected > 0 ? EXIT.failed : EXIT.done;
}

const toJson = (owned: readonly OwnedTool[]): string =>
  `${jsonText({ tools: owned.map(({ tool, backend }) => ({ ...tool, ...(backend !== undefined && { backend }) })) }, 2)}\n`;

/** A tool with the backend that serves it, if that is known. */
interface OwnedTool {
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

/** Result of `vmcp tools --check`. */
interface ToolCheck {
  /** Number of tools. */
  readonly tools: number;
  /** Number of API families that would reject something. */
  readonly rejected: number;
  readonly families: readonly {
    readonly family: ModelFamily;
    readonly findings: readonly Omit<ModelFinding, 'family'>[];
  }[];
}

/** Names of a finding in the text; `-o json` has all. */
const MOST_NAMES = 5;

export function checkTools(tools: readonly Tool[]): ToolCheck {
  const findings = modelFindings(tools.map((tool) => ({ name: tool.name, broken: brokenByTool(tool) })));
  const families = MODEL_FAMILIES.map((family) => ({
    family,
    findings: findings.filter((each) => each.family === family).map(({ family: _, ...finding }) => finding),
  }));
  return { tools: tools.length, rejected: families.filter((each) => each.findings.length > 0).length, families };
}

/** Renders a block for each family, with the first names of each finding. */
export function checkText({ tools, families }: ToolCheck): string {
  const lines = families.flatMap(({ family, findings }) =>
    findings.length === 0
      ? [`${family}: ok (${count(tools, 'tool')})`]
      : [`${family}: rejected`, ...findings.map((finding) => `  ${findingText(finding, tools)}`)],
  );
  return `${lines.map(printable).join('\n')}\n`;
}

function findingText({ tools, fault, remedy }: Omit<ModelFinding, 'family'>, all: number): string {
  if (tools.length === 0) return `${String(all)} tools, ${fault}: ${remedy}`;
  const more = tools.length - MOST_NAMES;
  const names = `${tools.slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
  return `${count(tools.length, 'tool')} ${fault} (${names}): ${remedy}`;
}
