import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../contract/json.ts';
import type { Problem } from '../../contract/problem.ts';
import { importRunConfig } from '../../contract/run-config/document.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, unknown>>;

const BODY_LIMIT = 8 * 1024 * 1024;

/** Typed members that mean the same as a middleware of each type, or undefined where vmcp has no equivalent. */
const EQUIVALENTS: Readonly<Record<string, (parameters: Parameters) => Members | undefined>> = {
  auth: ({ oidc_config }) => (isObject(oidc_config) ? { oidc_config } : {}),
  tokenexchange: ({ token_exchange_config }) => ({ token_exchange_config }),
  upstreamswap: ({ config }) => ({ upstream_swap_config: config }),
  'tool-filter': toolMembers,
  'tool-call-filter': toolMembers,
  bodylimit: ({ max_bytes }) => (max_bytes === undefined || max_bytes === BODY_LIMIT ? {} : undefined),
  // vmcp always parses messages and recovers from errors, and never reports its use to anybody
  'mcp-parser': () => ({}),
  recovery: () => ({}),
  usagemetrics: () => ({}),
};

function toolMembers({ filter_tools, tools_override }: Parameters): Members {
  return { tools_filter: filter_tools ?? undefined, tools_override: tools_override ?? undefined };
}

/**
 * Replaces `middleware_configs` by the typed members that mean the same. A middleware without an equivalent is the problem
 * `NotSupportedYet`, and one that differs from a typed member the problem `Conflict`. Pure.
 */
export function withoutMiddlewares(config: RunConfig): { readonly config: RunConfig; readonly problems: Problem[] } {
  const { middleware_configs: middlewares = [], ...typed } = config;
  const problems: Problem[] = [];
  let merged: Record<string, unknown> = { ...typed };
  middlewares.forEach(({ type = '', parameters = {} }, index) => {
    const path = `middleware_configs[${String(index)}]`;
    const members = Object.hasOwn(EQUIVALENTS, type) ? EQUIVALENTS[type]?.(parameters as Parameters) : undefined;
    if (members === undefined) {
      const message = `vmcp does not act on a middleware "${type}" with these parameters yet: remove it`;
      problems.push({ reason: 'NotSupportedYet', path, message });
      return;
    }
    const added = Object.entries(members).filter(([, value]) => value !== undefined);
    for (const [name, value] of added) {
      const present = merged[name];
      if (present !== undefined && !isDeepStrictEqual(present, value))
        problems.push({ reason: 'Conflict', path, message: `differs from ${name}: remove one of them` });
    }
    merged = { ...Object.fromEntries(added), ...merged };
  });
  const read = importRunConfig(merged);
  if ('config' in read) return { config: read.config, problems };
  const wrong = read.problems.map((problem) => ({ ...problem, path: `middleware_configs: ${problem.path}` }));
  return { config: typed, problems: [...problems, ...wrong] };
}
