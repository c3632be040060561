import { parseObject } from '../../../contract/json.ts';
import {
  brokenByTool,
  modelFindings,
  type ModelFinding,
  MODEL_FAMILIES,
  type ModelRule,
} from '../../../contract/model-apis/rules.ts';
import type { Advice } from '../view.ts';
import { quote } from '../warnings.ts';

/** Names of a finding in a message. `vmcp tools --check` has all. */
const MOST_NAMES = 3;

/** Results of `brokenByTool` by the JSON text of a tool, which stays the same until its backend lists another. */
const KNOWN = new WeakMap<Buffer, readonly ModelRule[]>();

function brokenBy(json: Buffer): readonly ModelRule[] {
  let broken = KNOWN.get(json);
  if (!broken) KNOWN.set(json, (broken = brokenByTool(parseObject(json.toString()) ?? {})));
  return broken;
}

/** Returns one sentence for each family of clients whose model API rejects some of these tools. */
export function modelAdvice(tools: readonly { readonly advertised: string; readonly json: Buffer }[]): Advice[] {
  const findings = modelFindings(tools.map(({ advertised, json }) => ({ name: advertised, broken: brokenBy(json) })));
  return MODEL_FAMILIES.flatMap((family) => {
    const own = findings.filter((each) => each.family === family);
    if (own.length === 0) return [];
    const faults = own.map((finding) => faultText(finding, tools.length)).join('; ');
    return [{ reason: 'ToolsNotPortable', message: `clients with models of ${family} may be refused: ${faults}` }];
  });
}

function faultText({ tools, fault, remedy }: ModelFinding, all: number): string {
  if (tools.length === 0) return `${String(all)} tools, ${fault}: ${remedy}`;
  const more = tools.length - MOST_NAMES;
  const names = tools.slice(0, MOST_NAMES).map(quote).join(', ');
  const counted = `${String(tools.length)} ${tools.length === 1 ? 'tool' : 'tools'}`;
  return `${counted} ${fault} (${names}${more > 0 ? ` and ${String(more)} more` : ''}): ${remedy}`;
}
