import { Type } from 'typebox';
import { between } from '../../contract/duration.ts';
import { Closed, Duration } from '../../contract/fields.ts';
import { block, mapBy } from '../../contract/optional.ts';
import { at, rule, type Rule } from '../../contract/rule.ts';

/** Most tokens of a bucket. */
export const MAX_TOKENS = 2_147_483_647;
export const SHORTEST_PERIOD = '1ms';
export const LONGEST_PERIOD = '8760h';

const bucket = (description: string) =>
  block(description, {
    maxTokens: Type.Integer({
      format: 'int32',
      minimum: 1,
      maximum: MAX_TOKENS,
      description: 'Maximum number of calls in a burst.',
    }),
    refillPeriod: Duration('Time until an empty bucket is full again.', { maxLength: 64 }),
  });

const limits = () => ({
  perUser: bucket('Limit for each user.'),
  shared: bucket('Limit for all users together.'),
});

const members = () => ({
  ...limits(),
  tools: Type.Optional(
    Type.Array(
      Closed({ name: Type.String({ minLength: 1, maxLength: 253, description: 'Name of the tool.' }), ...limits() }),
      { maxItems: 256, description: 'Limits for individual tools.', ...mapBy('name') },
    ),
  ),
  storeUnavailable: Type.Optional(
    Type.Enum(['open', 'closed'], {
      description:
        'Outcome of calls while the key-value store is down. open: they pass. closed: they are refused. When absent, calls that `perUser` or `tools` limits are refused, and others pass.',
    }),
  ),
});

/** Rate limits of a VirtualMCPServer. */
export const rateLimitSpec = Closed(members(), { description: 'Rate limits for tool calls.' });

interface Buckets {
  readonly perUser?: unknown;
  readonly shared?: unknown;
  readonly tools?: readonly Buckets[];
}

/** Returns true when any limit is per user and needs authenticated users. */
export const limitsUsers = (given: Buckets | undefined): boolean =>
  given?.perUser !== undefined || (given?.tools?.some((tool) => tool.perUser !== undefined) ?? false);

/** Returns `limitsUsers` as a CEL expression for the rate limits at `self`. */
export const limitsUsersCel = (self: string): string =>
  `(has(${self}.perUser) || (has(${self}.tools) && ${self}.tools.exists(t, has(t.perUser))))`;

const periods = (path: string): Rule[] =>
  ['perUser', 'shared'].map((member) =>
    between([path, member].filter(Boolean).join('.'), 'refillPeriod', SHORTEST_PERIOD, LONGEST_PERIOD),
  );

export const rateLimitRules = (path: string): Rule[] =>
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
    ...periods(''),
    ...periods('tools[]'),
  ]);
