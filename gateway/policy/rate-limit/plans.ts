import { durationMs } from '../../contract/fields.ts';
import type { BucketLimit } from './bucket.ts';
import type { BucketPlan, BucketScope, BucketUse } from './buckets.ts';

interface BucketConfig {
  readonly maxTokens: number;
  readonly refillPeriod: string;
}

/** Buckets for all users together and for each user. */
export interface LimitsConfig {
  readonly shared?: BucketConfig;
  readonly perUser?: BucketConfig;
}

export interface RateLimitPlansConfig extends LimitsConfig {
  readonly tools?: readonly (LimitsConfig & { readonly name: string })[];
}

/** Returns the plan of a tool; undefined when no limit applies to it. */
export type PlanOf = (tool: string) => BucketPlan | undefined;

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
