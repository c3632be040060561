import { Type } from 'typebox';
import { Closed, Duration } from '../../../gateway/contract/fields.ts';
import { block, mapBy } from '../../../gateway/contract/optional.ts';
import { at, rule, type Rule } from '../../../gateway/contract/rule.ts';

const bucket = (description: string) =>
  block(description, {
    maxTokens: Type.Integer({
      format: 'int32',
      minimum: 1,
      maximum: 2147483647,
      description: 'Maximum number of calls in a burst.',
    }),
    refillPeriod: Duration('Time until an empty bucket is full again.', { maxLength: 64 }),
  });

/** Rate limits for tool calls. */
export const rateLimiting = () =>
  block('Rate limits for tool calls.', {
    perUser: bucket('Limit for each user.'),
    shared: bucket('Limit for all users together.'),
    tools: Type.Optional(
      Type.Array(
        Closed({
          name: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the tool.' }),
          perUser: bucket('Limit for each user.'),
          shared: bucket('Limit for all users together.'),
        }),
        { maxItems: 256, description: 'Limits for individual tools.', ...mapBy('name') },
      ),
    ),
  });

interface Buckets {
  readonly perUser?: unknown;
  readonly shared?: unknown;
  readonly tools?: readonly Buckets[];
}

/** Returns true when any limit is per user and needs authenticated users. */
export const limitsUsers = (limits: Buckets | undefined): boolean =>
  limits?.perUser !== undefined || (limits?.tools?.some((tool) => tool.perUser !== undefined) ?? false);

/** Returns `limitsUsers` as a CEL expression for the rate limits at `self`. */
export const limitsUsersCel = (self: string): string =>
  `(has(${self}.perUser) || (has(${self}.tools) && ${self}.tools.exists(t, has(t.perUser))))`;

export const rateLimitingRules = (path: string): Rule[] =>
  at(path, [
    rule<Buckets>('', {
      rule: 'has(self.perUser) || has(self.shared) || (has(self.tools) && size(self.tools) > 0)',
      message: 'set at least one of perUser, shared and tools',
      check: ({ perUser, shared, tools = [] }) => perUser !== undefined || shared !== undefined || tools.length > 0,
    }),
    rule<Buckets>('tools[]', {
      rule: 'has(self.perUser) || has(self.shared)',
      message: 'set at least one of perUser and shared',
      check: ({ perUser, shared }) => perUser !== undefined || shared !== undefined,
    }),
  ]);
