import {
  brokenByTool,
  modelFindings,
  type ModelFinding,
  MODEL_FAMILIES,
  type ModelFamily,
} from '../../../gateway/contract/model-apis/rules.ts';
import { printable } from '../../../gateway/contract/text/printable.ts';
import type { Tool } from '../client/mcp-session.ts';
import { count } from '../validate/problems-output.ts';

/** Result of `vmcp tools --check`. */
export interface ToolCheck {
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
