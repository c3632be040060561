import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { oneLine } from './texts.ts';

/** Members that list the tools to show, by client. */
const SHOWN = [
  ...['includeTools', 'include_tools', 'enabledTools', 'enabled_tools', 'allowedTools', 'allowed_tools'],
  ...['available_tools', 'tools'],
];
/** Members that list the tools to hide. */
const HIDDEN = [
  ...['excludeTools', 'exclude_tools', 'disabledTools', 'disabled_tools', 'blockedTools', 'blocked_tools'],
  ...['excludedTools', 'deniedTools'],
];
/** Goose shows all tools where the list is empty; all other clients show no tool. */
const EMPTY_IS_ALL = 'available_tools';

export const FILTER_MEMBERS: readonly string[] = [...SHOWN, ...HIDDEN];

interface ToolFilter {
  /** Names of the tools to show. An empty list hides all tools, an absent list shows all tools. */
  readonly tools?: readonly string[];
  readonly warnings: readonly string[];
}

interface ToolList {
  readonly member: string;
  readonly hides: boolean;
  readonly names: readonly string[];
}

/** Reads the filter of a server. vmcp can only list the tools to show: a filter of another kind causes a warning. */
export function toolFilterIn(value: JsonObject): ToolFilter {
  const members = FILTER_MEMBERS.filter((member) => !isEmpty(member, value[member]));
  const lists = members.map((member) => listIn(member, value[member]));
  const unread = members.filter((_member, index) => lists[index] === undefined);
  const read = lists.filter((list) => list !== undefined);
  const hidden = read.filter(({ hides, names }) => hides && names.length > 0);
  const shown = read.filter(({ hides, names }) => !hides && !names.includes('*'));
  const patterns = shown.filter(({ names }) => names.some(isPattern));
  const [first, ...others] = shown;
  if (first === undefined || patterns.length > 0) {
    const lost = [...unread, ...patterns.map(({ member }) => member)];
    const warnings = lost.map((member) => toolFilterWarning(member, ['all its tools']));
    return { warnings: [...warnings, ...hidden.map(({ member, names }) => toolFilterWarning(member, names))] };
  }
  const matchers = hidden.flatMap(({ names }) => names).map(matcherOf);
  const isShown = (tool: string): boolean =>
    others.every(({ names }) => names.includes(tool)) && !matchers.some((matcher) => matcher.test(tool));
  const tools = [...new Set(first.names)].filter(isShown);
  const names = shown.map(({ member }) => member).join(' and ');
  return {
    tools,
    warnings: [
      ...unread.map((member) => toolFilterWarning(member, tools)),
      ...(tools.length > 0 ? [] : [`its ${names} allows no tool: clients see none of it`]),
    ],
  };
}

/** Returns the warning about a filter that vmcp cannot keep. `visible` are the names or patterns that it hid. */
export const toolFilterWarning = (member: string, visible: readonly string[]): string =>
  `its ${member} is left out: choose its tools with config.aggregation.tools of the VirtualMCPServer, because these become visible: ${oneLine(visible.join(', '))}`;

const isEmpty = (member: string, value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) && value.length === 0 && (member === EMPTY_IS_ALL || HIDDEN.includes(member))) ||
  (isObject(value) && Object.keys(value).length === 0);

/** Returns the names in a member; undefined for a member that is no list of tools. */
function listIn(member: string, value: unknown): ToolList | undefined {
  const hides = HIDDEN.includes(member);
  if (isObject(value) && Object.values(value).every((isOn) => typeof isOn === 'boolean'))
    return { member, hides: true, names: Object.keys(value).filter((tool) => value[tool] === hides) };
  if (!Array.isArray(value)) return undefined;
  // Gemini CLI also writes NAME(ARGUMENTS), and shows the tool whatever its arguments are.
  if (value.every((tool) => typeof tool === 'string'))
    return { member, hides, names: value.map((tool) => tool.split('(', 1).join()) };
  // Claude Code lists rules.
  if (!value.every((rule): rule is JsonObject => isObject(rule) && typeof rule['name'] === 'string')) return undefined;
  const denied = value.filter((rule) => rule['permission_policy'] === 'always_deny');
  return { member, hides: true, names: denied.map(({ name }) => String(name)) };
}

const isPattern = (name: string): boolean => /[*?[\]{}]/u.test(name);

/** Returns the expression for a name or a pattern with `*` and `?`. */
function matcherOf(name: string): RegExp {
  const escaped = name.replace(/[.+^${}()|[\]\\]/gu, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'u');
}
