import { Type, type Static } from 'typebox';
import { Closed } from '../fields.ts';
import { flag, text, texts } from '../optional.ts';

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
  max_tool_name_length: Type.Optional(Type.Integer({ minimum: 16, description: 'Longer names end in a hash.' })),
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
