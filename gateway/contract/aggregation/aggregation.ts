import { Type, type Static } from 'typebox';
import { Closed } from '../fields.ts';
import { block, flag, text, texts, whole } from '../optional.ts';

const ToolOverride = Closed({
  name: text('Advertised name of the tool.', { minLength: 1 }),
  description: text('Advertised description of the tool.'),
  annotations: Type.Optional(
    Closed(
      {
        title: text('Title of the tool.'),
        readOnlyHint: flag('readOnlyHint.'),
        destructiveHint: flag('destructiveHint.'),
        idempotentHint: flag('idempotentHint.'),
        openWorldHint: flag('openWorldHint.'),
      },
      { description: 'Annotations that replace those of the backend, member by member.' },
    ),
  ),
});

const toolRules = {
  filter: texts('Advertise these tools only, by their original names.'),
  filter_source: Type.Optional(
    Type.String({ description: 'Object and field that hold `filter`, for explanations, if that is a shared object.' }),
  ),
  overrides: Type.Optional(Type.Record(Type.String(), ToolOverride, { description: 'By original tool name.' })),
};

const WorkloadTools = Closed({
  workload: Type.String({ minLength: 1, description: 'Backend the entry applies to.' }),
  exclude_all: flag('Hide every tool of this backend.'),
  ...toolRules,
});

/** Most characters of the instructions of all backends together. */
export const INSTRUCTIONS_LENGTH = { default: 16_384, minimum: 256, maximum: 262_144 };

/** Limits of the greatest length of a tool name. */
export const TOOL_NAME_LENGTH = { minimum: 16, maximum: 1_024 };

export const Aggregation = Closed({
  conflict_resolution: Type.Enum(['prefix', 'priority', 'manual', 'none'], {
    description: 'Strategy for tools of different backends with the same name.',
  }),
  prefix_format: Type.String({ description: 'Prefix of the name; `{workload}` stands for the name of the backend.' }),
  priority_order: texts('Names of backends by priority. The first one owns a conflicting name.'),
  default_tool_visibility: Type.Enum(['allow', 'deny'], {
    description: 'deny hides tools of backends without a `tools` entry.',
  }),
  exclude_all_tools: flag('Hide all tools of backends.'),
  instructions: block('Instructions of the backends in `initialize` and `server/discover`.', {
    enabled: flag('Pass them on, each under the name of its backend.', { default: true }),
    max_length: whole(
      'Maximum number of characters of all of them together. Longer ones are cut.',
      INSTRUCTIONS_LENGTH,
    ),
  }),
  portable_schemas: flag('Serve input schemas in the part of JSON Schema that the APIs of all models accept.'),
  max_tool_name_length: whole('Maximum length of a tool name. Longer names end in a hash.', TOOL_NAME_LENGTH),
  tools: Type.Optional(Type.Array(WorkloadTools, { description: 'Settings for each backend.' })),
  backend_tools: Type.Optional(
    Type.Record(Type.String(), Closed(toolRules), {
      description:
        'Rules that backends have in every virtual server, by backend. `tools` takes precedence: its filter unless it is ' +
        'empty, and its overrides by tool.',
    }),
  ),
});

export type Aggregation = Static<typeof Aggregation>;
export type ToolOverride = Static<typeof ToolOverride>;

/** Filter and overrides for the tools of one backend. */
export type ToolRules = NonNullable<Aggregation['backend_tools']>[string];

/**
 * Combines two sets of rules for one backend. The filter is that of `first` unless it is empty; an override of `first` replaces
 * that of `second` for the same tool.
 */
export function combineToolRules(first: ToolRules, second: ToolRules): ToolRules {
  const { filter, filter_source: source } = hasFilter(first) ? first : second;
  const overrides = { ...second.overrides, ...first.overrides };
  return {
    ...(filter && { filter }),
    ...(source !== undefined && { filter_source: source }),
    ...(Object.keys(overrides).length > 0 && { overrides }),
  };
}

/** Returns true for rules that hide tools. An empty filter hides no tool. */
export const hasFilter = ({ filter = [] }: ToolRules): boolean => filter.length > 0;

/** Returns the rules that a backend has in every virtual server. */
export const ownToolRules = ({ backend_tools: rules = {} }: Aggregation, backend: string): ToolRules =>
  (Object.hasOwn(rules, backend) && rules[backend]) || {};
