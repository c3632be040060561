import { Type } from 'typebox';
import {
  blockMap,
  text,
  texts,
  block,
  duration,
  flag,
  freeObject,
  freeValue,
  mapBy,
  whole,
} from '../../../gateway/contract/optional.ts';
import { Closed } from '../../../gateway/contract/fields.ts';
import { at, rule, type Rule } from '../../../gateway/contract/rule.ts';

/** Filter of a backend's tools. `merge` is the rule by which server-side apply merges the list. */
export const toolFilter = (merge: object) =>
  texts('Original names of the tools to advertise. All tools when absent or empty.', { maxItems: 512, ...merge });

/** Changes to a backend's tools. */
export const toolOverrides = () =>
  blockMap(
    'Changes to tools, by original name.',
    {
      name: text('Advertised name of the tool.', { minLength: 1, maxLength: 128 }),
      description: text('Advertised description of the tool.'),
      annotations: toolAnnotations(),
    },
    { maxProperties: 512 },
  );

/** Tool annotations that replace those of the tool. Absent ones are unchanged. */
const toolAnnotations = () =>
  block('Annotations that replace those of the tool. Absent ones are unchanged.', {
    title: text('Title of the tool.'),
    readOnlyHint: flag('The tool only reads.'),
    destructiveHint: flag('The tool may delete or overwrite data.'),
    idempotentHint: flag('Repeated calls have no additional effect.'),
    openWorldHint: flag('The tool interacts with external systems.'),
  });

const answered = (description: string) =>
  block(description, {
    action: Type.Optional(
      Type.Enum(['abort', 'continue', 'skip_remaining'], { default: 'abort', description: 'Action to take.' }),
    ),
  });

const step = Closed({
  id: Type.String({ minLength: 1, maxLength: 253, description: 'Identifier for templates and `dependsOn`.' }),
  type: Type.Optional(
    Type.Enum(['tool', 'elicitation', 'forEach'], { default: 'tool', description: 'Type of the step.' }),
  ),
  tool: text('Tool to call, as `backend.tool` or by advertised name. For tool steps.', {
    minLength: 1,
    maxLength: 253,
  }),
  arguments: freeObject('Arguments of the call. Text values may be templates. For tool steps.'),
  condition: text('Template. The step is skipped unless it renders to `true`.'),
  dependsOn: texts('Steps that must finish first.', { maxItems: 64 }),
  timeout: duration('Timeout for the step. Defaults to 5m.', { maxLength: 64 }),
  defaultResults: freeValue('Result of a step that was skipped, or that failed with action `continue`.'),
  onError: block('Handling of a failure.', {
    action: Type.Optional(
      Type.Enum(['abort', 'continue', 'retry'], { default: 'abort', description: 'Action to take.' }),
    ),
    retryCount: whole('Number of retries for action `retry`.', { minimum: 0, maximum: 10 }),
    retryDelay: duration('Delay before each retry for action `retry`.', { maxLength: 64 }),
  }),
  message: text('Question to the user; may be a template. For elicitation steps.'),
  schema: freeObject('JSON Schema of the answer. For elicitation steps.'),
  onDecline: answered('Handling of a declined question. For elicitation steps.'),
  onCancel: answered('Handling of a cancelled question. For elicitation steps.'),
  collection: text('Template that renders to a JSON array. For forEach steps.'),
  itemVar: text('Name of the item in templates. Defaults to `item`. For forEach steps.', {
    minLength: 1,
    maxLength: 63,
  }),
  maxIterations: whole('Maximum number of items. Defaults to 100. For forEach steps.', { minimum: 1, maximum: 1000 }),
  maxParallel: whole('Maximum number of items processed concurrently. Defaults to 10. For forEach steps.', {
    minimum: 1,
    maximum: 50,
  }),
  step: freeObject('Tool step to run for each item. For forEach steps.'),
});

const output = block('Structure of the result.', {
  properties: Type.Record(
    Type.String(),
    Closed({
      type: Type.Enum(['string', 'integer', 'number', 'boolean', 'object', 'array'], {
        description: 'JSON type of the member.',
      }),
      description: text('Description.'),
      value: text('Template that renders to the value.'),
      properties: freeObject('JSON Schema of the members, for type `object`.'),
      default: freeValue('Value if the template renders to none.'),
    }),
    { maxProperties: 64, description: 'Members of the result, by name.' },
  ),
  required: texts('Members that are always present.', { maxItems: 64 }),
});

/** Workflows offered as tools. */
export const compositeTools = Type.Optional(
  Type.Array(
    Closed({
      name: Type.String({
        pattern: '^[A-Za-z0-9_.-]+$',
        minLength: 1,
        maxLength: 128,
        description: 'Name of the tool.',
      }),
      description: text('Description of the tool.'),
      annotations: toolAnnotations(),
      parameters: freeObject('JSON Schema of the arguments, of type `object`.'),
      timeout: duration('Timeout for the whole workflow. Defaults to 30m.', { maxLength: 64 }),
      steps: Type.Array(step, { minItems: 1, maxItems: 64, description: 'Steps of the workflow.', ...mapBy('id') }),
      output,
    }),
    { maxItems: 64, description: 'Workflows offered as tools.', ...mapBy('name') },
  ),
);

interface Step {
  readonly type: string;
  readonly tool?: unknown;
  readonly message?: unknown;
  readonly collection?: unknown;
  readonly step?: unknown;
}

export const compositeToolRules = (path: string): Rule[] =>
  at(`${path}[].steps[]`, [
    rule<Step>('', {
      field: 'tool',
      rule: "self.type != 'tool' || has(self.tool)",
      message: 'a tool step needs tool',
      check: (self) => self.type !== 'tool' || self.tool !== undefined,
    }),
    rule<Step>('', {
      field: 'message',
      rule: "self.type != 'elicitation' || has(self.message)",
      message: 'an elicitation step needs message',
      check: (self) => self.type !== 'elicitation' || self.message !== undefined,
    }),
    rule<Step>('', {
      rule: "self.type != 'forEach' || (has(self.collection) && has(self.step))",
      message: 'a forEach step needs collection and step',
      check: (self) => self.type !== 'forEach' || (self.collection !== undefined && self.step !== undefined),
    }),
  ]);
