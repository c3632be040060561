import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { readReference } from './run-config-of.ts';

/** Members that may hold a secret as a value, with the name under which vmcp keeps it. */
const MEMBERS = [
  ['oidc_config', 'clientSecret', '@oidc-client-secret'],
  ['token_exchange_config', 'client_secret', '@exchange-client-secret'],
  ['remote_auth_config', 'client_secret', '@login-client-secret'],
  ['remote_auth_config', 'bearer_token', '@bearer-token'],
] as const;

/** Names of the secrets that vmcp keeps for a workload; no name of a user's secret starts with `@`. */
export const KEPT_SECRETS: readonly string[] = MEMBERS.map(([, , name]) => name);

/** Secrets that came as values, by the names that stand in the run configuration in their place. */
export interface Extracted {
  readonly config: RunConfig;
  readonly values: ReadonlyMap<string, string>;
}

/** Replaces the values of secrets in a run configuration by references. Pure. */
export function extractSecrets(config: RunConfig): Extracted {
  const values = new Map<string, string>();
  let extracted = config;
  for (const [block, member, name] of MEMBERS) {
    const holder = extracted[block] as Readonly<Record<string, unknown>> | undefined;
    const value = holder?.[member];
    if (typeof value !== 'string' || value === '' || readReference(value) !== undefined) continue;
    values.set(name, value);
    extracted = { ...extracted, [block]: { ...holder, [member]: `${name},target=${member}` } };
  }
  return { config: extracted, values };
}
