import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { block, duration, freeObject, freeValue, mapBy, text, texts, whole } from '../../gateway/contract/optional.ts';
import { at, rule, type Rule } from '../../gateway/contract/rule.ts';
import { toolAnnotations } from './tool-annotations.ts';

const answered = (description: string) =>
  block(description, {
    action: Type.Optional(
      Type.Enum(['abort', 'continue', 'skip_remaining'], { default: 'abort', description: 'What happens then.' }),
    ),
  });

const step = Closed({
  id: Type.String({ minLength: 1, maxLength: 253, description: 'Name that templates and `dependsOn` refer to.' }),
  type: Type.Optional(
    Type.Enum(['tool', 'elicitation', 'forEach'], { default: 'tool', description: 'What the step does.' }),
  ),
  tool: text('tool: `backend.tool` or the advertised name.', { minLength: 1, maxLength: 253 }),
  arguments: freeObject('tool: arguments; text values may be templates.'),
  condition: text('Template that must yield `true`, else the step is skipped.'),
  dependsOn: texts('Steps that must be done before.', { maxItems: 64 }),
  timeout: duration('Longest time for the step; 5m when absent.', { maxLength: 64 }),
  defaultResults: freeValue('Result when the step is skipped, or failed and continued.'),
  onError: block('What a failure means.', {
    action: Type.Optional(
      Type.Enum(['abort', 'continue', 'retry'], { default: 'abort', description: 'What happens then.' }),
    ),
    retryCount: whole('retry: attempts after the first.', { minimum: 0, maximum: 10 }),
    retryDelay: duration('retry: time before the next attempt.', { maxLength: 64 }),
  }),
  message: text('elicitation: question to the user; may be a template.'),
  schema: freeObject('elicitation: JSON Schema of the answer.'),
  onDecline: answered('elicitation: the user says no.'),
  onCancel: answered('elicitation: the user gives no answer.'),
  collection: text('forEach: template that yields a JSON array.'),
  itemVar: text('forEach: name of the item in templates; `item` when absent.', { minLength: 1, maxLength: 63 }),
  maxIterations: whole('forEach: most items; 100 when absent.', { minimum: 1, maximum: 1000 }),
  maxParallel: whole('forEach: items at once; 10 when absent.', { minimum: 1, maximum: 50 }),
  step: freeObject('forEach: the tool step done for each item.'),
});

const output = block('Shape of the result.', {
  properties: Type.Record(
    Type.String(),
    Closed({
      type: Type.Enum(['string', 'integer', 'number', 'boolean', 'object', 'array'], { description: 'JSON type.' }),
      description: text('Description.'),
      value: text('Template that yields the value.'),
      properties: freeObject('object: JSON Schema of the members.'),
      default: freeValue('Value when the template yields none.'),
    }),
    { maxProperties: 64, description: 'Members of the result, by name.' },
  ),
  required: texts('Members that are always there.', { maxItems: 64 }),
});

/** Workflows that are offered as tools. */
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
      parameters: freeObject('JSON Schema of the arguments; its type is object.'),
      timeout: duration('Longest time for the whole; 30m when absent.', { maxLength: 64 }),
      steps: Type.Array(step, { minItems: 1, maxItems: 64, description: 'What is done.', ...mapBy('id') }),
      output,
    }),
    { maxItems: 64, description: 'Workflows that are offered as tools.', ...mapBy('name') },
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
