import { isDeepStrictEqual } from 'node:util';
import { withDeclaredNames, type NamedNode } from '../../http/declared-names.ts';
import { isObject } from '../../contract/json.ts';
import type { Problem } from '../../contract/problem.ts';
import { importRunConfig } from '../../contract/run-config/document.ts';
import { RunConfig } from '../../contract/run-config/run-config.ts';
import { inlineKeyProblems } from './webhook-secrets.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Chain = NonNullable<RunConfig['middleware_configs']>;
type Members = Readonly<Record<string, unknown>>;

const BODY_LIMIT = 8 * 1024 * 1024;

/** Typed members that mean the same as a middleware of each type, or undefined where vmcp has no equivalent. */
const EQUIVALENTS: Readonly<Record<string, (parameters: Parameters, typed: RunConfig) => Members | undefined>> = {
  origin: ({ allowed_origins }) => (isLoopbackList(allowed_origins) ? {} : undefined),
  audit: (parameters) => controlMembers(parameters, { config_data: 'audit_config', config_path: 'audit_config_path' }),
  auth: ({ oidc_config }) => (isObject(oidc_config) ? { oidc_config: withoutEmptyMembers(oidc_config) } : {}),
  tokenexchange: ({ token_exchange_config }) => ({ token_exchange_config }),
  upstreamswap: ({ config }) => ({ upstream_swap_config: config }),
  // The token of a client never reaches a server; that of an upstream provider does, unless the typed member says otherwise.
  'strip-auth': (_, { embedded_auth_server_config: server }) =>
    server === undefined || server.disable_upstream_token_injection === true ? {} : undefined,
  authorization: (parameters) =>
    controlMembers(parameters, { config_data: 'authz_config', config_path: 'authz_config_path' }),
  ratelimit: (parameters) =>
    parameters['config'] === undefined
      ? undefined
      : controlMembers(parameters, { config: 'rate_limit_config', namespace: 'rate_limit_namespace' }),
  telemetry: (parameters) => controlMembers(parameters, { config: 'telemetry_config' }),
  'mutating-webhook': (parameters) => controlMembers(parameters, { webhooks: 'mutating_webhooks' }),
  'validating-webhook': (parameters) => controlMembers(parameters, { webhooks: 'validating_webhooks' }),
  cloudsts: ({ cloud_sts_config }) => ({ cloud_sts_config }),
  'header-forward': ({ add_headers }) =>
    isObject(add_headers) ? { header_forward: { add_plaintext_headers: add_headers } } : undefined,
  'tool-filter': toolMembers,
  'tool-call-filter': toolMembers,
  bodylimit: ({ max_bytes }) => (max_bytes === undefined || max_bytes === BODY_LIMIT ? {} : undefined),
  // vmcp always parses messages and recovers from errors, and never reports its use to anybody
  'mcp-parser': () => ({}),
  recovery: () => ({}),
  usagemetrics: () => ({}),
};

/** Declared names of the parameters: other programs write those of a login in another case, and its empty members too. */
const PARAMETERS: Readonly<Record<string, NamedNode>> = {
  auth: { properties: { oidc_config: RunConfig.properties.oidc_config } },
  tokenexchange: { properties: { token_exchange_config: RunConfig.properties.token_exchange_config } },
  cloudsts: { properties: { cloud_sts_config: RunConfig.properties.cloud_sts_config } },
  upstreamswap: { properties: { config: RunConfig.properties.upstream_swap_config } },
  authorization: { properties: { config_data: RunConfig.properties.authz_config } },
  ratelimit: { properties: { config: RunConfig.properties.rate_limit_config } },
  telemetry: { properties: { config: RunConfig.properties.telemetry_config } },
  'mutating-webhook': { properties: { webhooks: RunConfig.properties.mutating_webhooks } },
  'validating-webhook': { properties: { webhooks: RunConfig.properties.validating_webhooks } },
};

/** Returns middlewares with the declared names of their parameters. Pure. */
export const withParameterNames = (middlewares: Chain): Chain =>
  middlewares.map((middleware) => {
    const { type = '', parameters } = middleware;
    const shape = Object.hasOwn(PARAMETERS, type) ? PARAMETERS[type] : undefined;
    if (shape === undefined || parameters === undefined) return middleware;
    return { ...middleware, parameters: withDeclaredNames(parameters, shape) as object };
  });

/** Removes the members of a block that mean the same as absent ones. */
function withoutEmptyMembers(value: unknown): unknown {
  if (!isObject(value)) return value;
  const isEmpty = (member: unknown): boolean =>
    member === '' || member === false || (Array.isArray(member) && member.length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, member]) => !isEmpty(member)));
}

/** Parameters that say again what the workload is. */
const DESCRIPTIONS: ReadonlySet<string> = new Set(['server_name', 'transport', 'transport_type', 'component']);

const LOOPBACK_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::(?:\d+|\*))?$/iu;

/** Returns true for the origins that vmcp accepts for every workload: those of this machine. An empty list means the default. */
const isLoopbackList = (origins: unknown): boolean =>
  origins === undefined ||
  origins === null ||
  (Array.isArray(origins) && origins.every((origin) => typeof origin === 'string' && LOOPBACK_ORIGIN.test(origin)));

/**
 * Returns the members that a control means, from their names among its parameters. Returns undefined for other parameters and
 * for a control without settings: to drop it would let calls pass.
 */
function controlMembers(parameters: Parameters, names: Readonly<Record<string, string>>): Members | undefined {
  const given = Object.entries(parameters).filter(
    ([name, value]) => value !== null && value !== undefined && value !== '' && value !== 0 && !DESCRIPTIONS.has(name),
  );
  if (given.length === 0 || given.some(([name]) => !Object.hasOwn(names, name))) return undefined;
  return Object.fromEntries(given.map(([name, value]) => [names[name] ?? name, value]));
}

function toolMembers({ filter_tools, tools_override }: Parameters): Members {
  return { tools_filter: filter_tools ?? undefined, tools_override: tools_override ?? undefined };
}

/**
 * Replaces `middleware_configs` by the typed members that mean the same. A middleware without an equivalent is the problem
 * `NotSupportedYet`, one that differs from a typed member the problem `Conflict`, and the key of a webhook as a value the
 * problem `InvalidValue`. Pure.
 */
export function withoutMiddlewares(config: RunConfig): { readonly config: RunConfig; readonly problems: Problem[] } {
  const { middleware_configs: middlewares = [], ...typed } = config;
  const keys = inlineKeyProblems(config);
  if (keys.length > 0) return { config: typed, problems: keys };
  const problems: Problem[] = [];
  let merged: Record<string, unknown> = { ...typed };
  withParameterNames(middlewares).forEach(({ type = '', parameters = {} }, index) => {
    const path = `middleware_configs[${String(index)}]`;
    const members = Object.hasOwn(EQUIVALENTS, type)
      ? EQUIVALENTS[type]?.(parameters as Parameters, config)
      : undefined;
    if (members === undefined) {
      const message = `vmcp does not act on a middleware "${type}" with these parameters yet: remove it`;
      problems.push({ reason: 'NotSupportedYet', path, message });
      return;
    }
    const added = Object.entries(members).filter(([, value]) => value !== undefined);
    for (const [name, value] of added) {
      const present = merged[name];
      if (present !== undefined && !isDeepStrictEqual(withoutEmptyMembers(present), withoutEmptyMembers(value)))
        problems.push({ reason: 'Conflict', path, message: `differs from ${name}: remove one of them` });
    }
    merged = { ...Object.fromEntries(added), ...merged };
  });
  const read = importRunConfig(merged);
  if ('config' in read) return { config: read.config, problems };
  const wrong = read.problems.map((problem) => ({ ...problem, path: `middleware_configs: ${problem.path}` }));
  return { config: typed, problems: [...problems, ...wrong] };
}
