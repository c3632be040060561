import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { readReference } from '../run-config-of.ts';
import type { RegistryEntry } from '../registry-entry.ts';
import type { WorkloadSettings } from '../settings.ts';

export const UPGRADE_STATES = [
  'up-to-date',
  'upgrade-available',
  'not-registry-sourced',
  'server-not-found',
  'unknown',
] as const;

/** Variable of a registry entry that a workload does not set. */
interface MissingVariable {
  readonly name: string;
  readonly description?: string;
  readonly required: boolean;
  readonly secret?: boolean;
}

/** Setting of a workload that differs from its registry entry. */
interface ConfigDrift {
  readonly setting: 'url' | 'transport' | 'target_port';
  readonly current: string;
  readonly candidate: string;
}

/** Comparison of a workload with its registry entry. */
export interface UpgradeCheck {
  readonly workload_name: string;
  readonly registry_server?: string;
  readonly status: (typeof UPGRADE_STATES)[number];
  readonly current_image?: string;
  readonly candidate_image?: string;
  /** Why there is nothing to compare. */
  readonly reason?: string;
  readonly env_var_drift?: readonly MissingVariable[];
  readonly config_drift?: readonly ConfigDrift[];
}

/** Values for variables of the new version. */
export interface UpgradeRequest {
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: readonly { readonly name: string; readonly target: string }[];
}

const NOT_SOURCED = 'the workload was not created from a registry entry: edit its image instead';
const NOT_FOUND = 'the registry no longer has the server: edit the workload, or add the server to the registry';
const OTHER_KIND = 'the registry entry has changed between an image and a remote server: create the workload again';

/** Compares a workload with its registry entry; undefined when the registry has none. */
export function upgradeCheckOf(config: RunConfig, entry: RegistryEntry | undefined): UpgradeCheck {
  const { name = '', registry_server_name: server = '', image = '', remote_url: url = '' } = config;
  const named = { workload_name: name, ...(server !== '' && { registry_server: server }) };
  const current = { ...named, ...(image !== '' && { current_image: image }) };
  if (server === '') return { ...current, status: 'not-registry-sourced', reason: NOT_SOURCED };
  if (!entry) return { ...current, status: 'server-not-found', reason: NOT_FOUND };
  if ((entry.image === undefined) !== (url !== '')) return { ...current, status: 'unknown', reason: OTHER_KIND };
  const isSame = entry.image === undefined ? entry.url === url : entry.image === image;
  const variables = missingFrom(config, entry);
  const drift = driftOf(config, entry);
  return {
    ...current,
    status: isSame ? 'up-to-date' : 'upgrade-available',
    ...(entry.image !== undefined && { candidate_image: entry.image }),
    ...(variables.length > 0 && { env_var_drift: variables }),
    ...(drift.length > 0 && { config_drift: drift }),
  };
}

/** Returns the check of a workload whose registry cannot be read. */
export const unknownCheck = (config: RunConfig, reason: string): UpgradeCheck => {
  const { reason: _notFound, ...check } = upgradeCheckOf(config, undefined);
  return check.status === 'not-registry-sourced'
    ? { ...check, reason: NOT_SOURCED }
    : { ...check, status: 'unknown', reason };
};

/** Returns the edit that upgrades a workload: image or URL, and variables. All other settings stay. */
export function upgradeSettings(
  config: RunConfig,
  entry: RegistryEntry,
  { env = {}, secrets = [] }: UpgradeRequest,
): WorkloadSettings {
  const set = new Set([...variablesOf(config), ...secrets.map(({ target }) => target)]);
  const defaults = (entry.env_vars ?? []).flatMap(({ name, default: value }) =>
    value === undefined || set.has(name) ? [] : [[name, value] as const],
  );
  const added = { ...Object.fromEntries(defaults), ...config.env_vars, ...env };
  const given = new Set(secrets.map(({ target }) => target));
  const kept = (config.secrets ?? []).flatMap((text) => readReference(text) ?? []);
  return {
    ...(entry.image === undefined ? { url: entry.url ?? '' } : { image: entry.image }),
    ...((defaults.length > 0 || Object.keys(env).length > 0) && { env_vars: added }),
    ...(secrets.length > 0 && { secrets: [...kept.filter(({ target }) => !given.has(target)), ...secrets] }),
  };
}

/** Lists the variables that the entry requires and that have no value. */
export function missingVariables(config: RunConfig, entry: RegistryEntry, request: UpgradeRequest): string[] {
  const { env = {}, secrets = [] } = request;
  const given = new Set([...Object.keys(env), ...secrets.map(({ target }) => target)]);
  const required = new Set(
    (entry.env_vars ?? []).filter((variable) => variable.default === undefined).map(({ name }) => name),
  );
  return missingFrom(config, entry)
    .filter((variable) => variable.required && required.has(variable.name) && !given.has(variable.name))
    .map(({ name }) => name);
}

/** Names of the variables that a workload sets, by value or by secret. */
const variablesOf = ({ env_vars: variables = {}, secrets = [] }: RunConfig): string[] => [
  ...Object.keys(variables),
  ...secrets.flatMap((text) => readReference(text)?.target ?? []),
];

function missingFrom(config: RunConfig, { env_vars: variables = [] }: RegistryEntry): MissingVariable[] {
  const set = new Set(variablesOf(config));
  return variables
    .filter(({ name }) => !set.has(name))
    .map(({ name, description, required = false, secret = false }) => ({
      name,
      ...(description !== undefined && { description }),
      required,
      ...(secret && { secret }),
    }));
}

function driftOf(config: RunConfig, { url, transport, target_port: port }: RegistryEntry): ConfigDrift[] {
  const { remote_url: currentUrl = '', transport: currentTransport = '', target_port: currentPort = 0 } = config;
  const candidates: readonly (readonly [ConfigDrift['setting'], string, string | undefined])[] = [
    ['url', currentUrl, url],
    ['transport', currentTransport, transport],
    ['target_port', String(currentPort), port === undefined ? undefined : String(port)],
  ];
  return candidates.flatMap(([setting, current, candidate]) =>
    candidate === undefined || candidate === current ? [] : [{ setting, current, candidate }],
  );
}
