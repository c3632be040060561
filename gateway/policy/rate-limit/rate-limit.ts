import { methodOf } from '../../contract/protocol/methods.ts';
import { Type, type Static } from 'typebox';
import { Closed, Duration, durationMs } from '../../contract/fields.ts';
import type { Problem } from '../../contract/problem.ts';
import {
  retryAfterSeconds,
  type BucketLimit,
  type BucketPlan,
  type RateLimitObserver,
  type Taken,
  type BucketScope,
  type BucketUse,
} from './buckets.ts';
import { LONGEST_PERIOD, MAX_TOKENS, rateLimitRules, rateLimitSpec, SHORTEST_PERIOD } from './spec.ts';
import { shortToolName } from '../tool-name.ts';
import { ALLOW, definePolicy, type Decision, type NamedTool, type PolicyFacts } from '../policy.ts';

interface BucketConfig {
  readonly maxTokens: number;
  readonly refillPeriod: string;
}

/** Buckets for all users together and for each user. */
interface LimitsConfig {
  readonly shared?: BucketConfig;
  readonly perUser?: BucketConfig;
}

export interface RateLimitPlansConfig extends LimitsConfig {
  readonly tools?: readonly (LimitsConfig & { readonly name: string })[];
}

/** Returns the plan of a tool; undefined when no limit applies to it. */
type PlanOf = (tool: string) => BucketPlan | undefined;

const limitOf = ({ maxTokens, refillPeriod }: BucketConfig): BucketLimit => ({
  maxTokens,
  periodMs: durationMs(refillPeriod),
});

/** A bucket as the configuration describes it; `key` is complete unless it is per user. */
interface Rule {
  readonly scope: BucketScope;
  readonly key: string;
  readonly limit: BucketLimit;
  readonly perUser: boolean;
}

/** Key of a tool. The length keeps `a` of user `b:c` apart from `a:b` of user `c`. */
const toolKey = (tool: string): string => `${String(tool.length)}:${tool}`;

/**
 * Returns the rules of a tool in the order in which they are checked. `user:` and `user-tool:` begin differently, since a
 * subject may contain anything.
 */
function rulesOf({ shared, perUser }: LimitsConfig, name?: string, own: LimitsConfig = {}): Rule[] {
  const tool = toolKey(name ?? '');
  const rule = (scope: BucketScope, key: string, perUserRule: boolean, config?: BucketConfig): Rule[] =>
    config ? [{ scope, key, limit: limitOf(config), perUser: perUserRule }] : [];
  return [
    ...rule('shared', 'shared', false, shared),
    ...rule('tool', `shared:tool:${tool}`, false, own.shared),
    ...rule('user', 'user:', true, perUser),
    ...rule('user_tool', `user-tool:${tool}:`, true, own.perUser),
  ];
}

function planOf(rules: readonly Rule[], name: string): BucketPlan | undefined {
  if (rules.length === 0) return undefined;
  const scopes = rules.map(({ scope }) => scope);
  if (!rules.some(({ perUser }) => perUser)) return { scopes, idOf: () => name, usesOf: () => rules };
  const usesOf = (principal: string): BucketUse[] =>
    rules.map((rule) => (rule.perUser ? { scope: rule.scope, key: rule.key + principal, limit: rule.limit } : rule));
  return { scopes, idOf: (principal) => name + principal, usesOf };
}

/** Prepares the buckets of every tool, so that a call only looks them up. */
export function bucketPlans(config: RateLimitPlansConfig): PlanOf {
  const common = planOf(rulesOf(config), '*:');
  const { tools = [] } = config;
  if (tools.length === 0) return () => common;
  const byTool = new Map(
    tools.map((tool) => [tool.name, planOf(rulesOf(config, tool.name, tool), `${toolKey(tool.name)}:`)]),
  );
  return (tool) => (byTool.has(tool) ? byTool.get(tool) : common);
}

const bucket = Type.Optional(
  Closed({ maxTokens: Type.Integer({ minimum: 1, maximum: MAX_TOKENS }), refillPeriod: Duration('') }),
);
const limits = { perUser: bucket, shared: bucket };

const config = Closed({
  ...limits,
  tools: Type.Optional(Type.Array(Closed({ name: Type.String({ minLength: 1 }), ...limits }))),
  storeUnavailable: Type.Optional(Type.Enum(['open', 'closed'])),
});

type Config = Static<typeof config>;
type Limits = Pick<Config, 'perUser' | 'shared'>;

/** Seconds after which clients retry while the store is unavailable. */
const OUTAGE_RETRY_SECONDS = 1;

/** Limits the rate of tool calls with token buckets: for all users, for each user, and for each tool. */
export const rateLimit = definePolicy({
  type: 'rateLimit',
  description: 'Limits the rate of tool calls.',
  spec: rateLimitSpec,
  rules: rateLimitRules(''),
  config,
  member: 'rate_limit_config',
  alsoReads: ['rate_limit_namespace'],
  resolve: (spec) => spec,
  check: checkConfig,
  create(settings, { buckets, rateLimits, maxToolNameLength: max }) {
    const tools = settings.tools?.map((tool) => ({ ...tool, name: shortToolName(tool.name, max) }));
    const planOf = bucketPlans({ ...settings, ...(tools && { tools }) });
    const isOpen = (plan: BucketPlan): boolean => passesOutage(settings, plan);
    return {
      namedTools: namedTools(settings),
      countsCalls: true,
      decide({ method, name, session }) {
        const plan = methodOf(method).callsTool ? planOf(name) : undefined;
        if (!plan) return ALLOW;
        const taken = buckets.take(plan, session.principal);
        return taken instanceof Promise
          ? taken.then((late) => judge(late, plan, isOpen, rateLimits))
          : judge(taken, plan, isOpen, rateLimits);
      },
    };
  },
});

function judge(
  taken: Taken,
  plan: BucketPlan,
  isOpen: (plan: BucketPlan) => boolean,
  observer: RateLimitObserver,
): Decision {
  switch (taken.kind) {
    case 'taken':
      for (const scope of plan.scopes) observer.decided(scope, true);
      return ALLOW;
    case 'empty': {
      observer.decided(taken.scope, false);
      const seconds = retryAfterSeconds(taken.waitMs);
      const message = `Rate limit exceeded: try again in ${String(seconds)} s`;
      return { verdict: 'deny', reason: 'rate_limited', message, retryAfterSeconds: seconds };
    }
    case 'unavailable':
      if (!isOpen(plan)) return OUTAGE;
      observer.failedOpen();
      return ALLOW;
  }
}

const OUTAGE: Decision = {
  verdict: 'fail',
  reason: 'rate_limit_store_unavailable',
  message: 'the store of the rate limits is unavailable: try again later',
  retryAfterSeconds: OUTAGE_RETRY_SECONDS,
};

/** Returns true when calls pass while the store is unavailable: by default those that only the common bucket limits. */
const passesOutage = ({ storeUnavailable }: Config, { scopes }: BucketPlan): boolean =>
  storeUnavailable === undefined ? scopes.every((scope) => scope === 'shared') : storeUnavailable === 'open';

const namedTools = ({ tools = [] }: Config): NamedTool[] =>
  tools.map(({ name }, index) => ({
    name,
    unmatched: {
      reason: 'RateLimitToolUnmatched',
      path: `rate_limit_config.tools[${String(index)}].name`,
      message: `the rate limit of ${JSON.stringify(name)} limits nothing: clients see no tool of this name`,
    },
  }));

/** Lists problems that the schema cannot express. */
function checkConfig(given: Config, facts: PolicyFacts): Problem[] {
  const { tools = [] } = given;
  const names = tools.map(({ name }) => name);
  return [
    ...(given.shared || given.perUser || tools.length > 0 ? [] : [unlimited('', 'shared, perUser and tools')]),
    ...limitProblems(given, '', facts),
    ...tools.flatMap((tool, index) => {
      const path = `tools[${String(index)}]`;
      return [
        ...(tool.shared || tool.perUser ? [] : [unlimited(path, 'shared and perUser')]),
        ...(names.indexOf(tool.name) === index ? [] : [repeated(path, tool.name)]),
        ...limitProblems(tool, `${path}.`, facts),
      ];
    }),
  ];
}

const unlimited = (path: string, members: string): Problem => ({
  reason: 'MissingField',
  path,
  message: `limits nothing: set at least one of ${members}`,
});

const repeated = (path: string, name: string): Problem => ({
  reason: 'RuleViolated',
  path: `${path}.name`,
  message: `two entries limit the tool "${name}": merge them`,
});

function limitProblems({ shared, perUser }: Limits, path: string, facts: PolicyFacts): Problem[] {
  const problems = Object.entries({ shared, perUser }).flatMap(([member, limit]): Problem[] => {
    const ms = limit ? durationMs(limit.refillPeriod) : undefined;
    if (ms === undefined || (ms >= durationMs(SHORTEST_PERIOD) && ms <= durationMs(LONGEST_PERIOD))) return [];
    const message = `must be from ${SHORTEST_PERIOD} to ${LONGEST_PERIOD}`;
    return [{ reason: 'InvalidDuration', path: `${path}${member}.refillPeriod`, message }];
  });
  if (!perUser || facts.hasUsers) return problems;
  const message = `anonymous clients cannot be told apart: set ${facts.loginSetting}, or use shared`;
  return [...problems, { reason: 'RuleViolated', path: `${path}perUser`, message }];
}
