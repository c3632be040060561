import { methodOf } from '../../contract/protocol/methods.ts';
import { Type, type Static } from 'typebox';
import { Closed, Duration, durationMs } from '../../contract/fields.ts';
import type { Problem } from '../../contract/problem.ts';
import { retryAfterSeconds } from './bucket.ts';
import type { BucketPlan, RateLimitObserver, Taken } from './buckets.ts';
import { bucketPlans } from './plans.ts';
import { LONGEST_PERIOD, MAX_TOKENS, rateLimitRules, rateLimitSpec, SHORTEST_PERIOD } from './spec.ts';
import { shortToolName } from '../tool-name.ts';
import { ALLOW, definePolicy, type Decision, type NamedTool, type PolicyFacts } from '../policy.ts';

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
