import { isObject } from '../../contract/json.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { withoutSecretValues } from './webhook-secrets.ts';
import { withParameterNames } from './middlewares.ts';
import { readReference } from './run-config-of.ts';

/** Members that may hold a secret as a value, with the name under which vmcp keeps it. */
const MEMBERS = [
  ['oidc_config', 'clientSecret', '@oidc-client-secret'],
  ['token_exchange_config', 'client_secret', '@exchange-client-secret'],
  ['remote_auth_config', 'client_secret', '@login-client-secret'],
  ['remote_auth_config', 'bearer_token', '@bearer-token'],
] as const;

/** A new value gets a name beside those of the present settings and the ones before them, so that an edit can be undone. */
const VERSIONS = ['', '-2', '-3'];

/** Names of the secrets that vmcp keeps for a workload; no name of a user's secret starts with `@`. */
export const KEPT_SECRETS: readonly string[] = MEMBERS.flatMap(([, , name]) =>
  VERSIONS.map((version) => name + version),
);

/** Secrets that came as values, by the names that stand in the run configuration in their place. */
export interface Extracted {
  readonly config: RunConfig;
  readonly values: ReadonlyMap<string, string>;
}

/** Middlewares whose parameter holds one of the members, by the name of the member. */
const CARRIERS: Readonly<Record<string, string>> = { oidc_config: 'auth', token_exchange_config: 'tokenexchange' };

type Chain = NonNullable<RunConfig['middleware_configs']>;
type Member = readonly [(typeof MEMBERS)[number][0], string, string];
type Values = Map<string, string>;

/** Returns the members, with names that none of the configurations uses. */
const freshMembers = (inUse: readonly RunConfig[]): Member[] =>
  MEMBERS.map(([block, member, name]) => {
    const used = inUse.map((config) => nameIn(config, block, member));
    const version = VERSIONS.find((each) => !used.includes(name + each)) ?? '';
    return [block, member, name + version];
  });

function nameIn(config: RunConfig, block: Member[0], member: string): string | undefined {
  const text = (config[block] as Readonly<Record<string, unknown>> | undefined)?.[member];
  return typeof text === 'string' ? readReference(text)?.name : undefined;
}

/**
 * Replaces the values of secrets in a run configuration by references, also in middlewares that mean the same as a typed
 * member. Other secret values of middlewares are removed. Names that the configurations `inUse` refer to are not reused. Pure.
 */
export function extractSecrets(config: RunConfig, inUse: readonly RunConfig[] = []): Extracted {
  const values: Values = new Map();
  const fresh = freshMembers(inUse);
  let extracted: RunConfig = config;
  for (const member of fresh) extracted = extractFrom(extracted, member, values) as RunConfig;
  const { middleware_configs: middlewares } = extracted;
  if (middlewares)
    extracted = {
      ...extracted,
      middleware_configs: withoutSecretValues(referring(withParameterNames(middlewares), fresh, values)),
    };
  return { config: extracted, values };
}

/** Replaces a value by its reference. A value that differs from an earlier one of the same name stays. */
function extractFrom(holders: object, [block, member, name]: Member, values: Values): object {
  const holder = (holders as Readonly<Record<string, unknown>>)[block];
  const value = isObject(holder) ? holder[member] : undefined;
  if (typeof value !== 'string' || value === '' || readReference(value) !== undefined) return holders;
  if (values.has(name) && values.get(name) !== value) return holders;
  values.set(name, value);
  return { ...holders, [block]: { ...(holder as object), [member]: `${name},target=${member}` } };
}

function referring(middlewares: Chain, members: readonly Member[], values: Values): Chain {
  return middlewares.map((middleware) => {
    const { type = '', parameters } = middleware;
    const carried = members.filter(([block]) => CARRIERS[block] === type);
    if (parameters === undefined || carried.length === 0) return middleware;
    return {
      ...middleware,
      parameters: carried.reduce((each, member) => extractFrom(each, member, values), parameters),
    };
  });
}
