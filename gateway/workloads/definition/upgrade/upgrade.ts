import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import type { PermissionProfile } from '../../../contract/container.ts';
import { type ToConfirm, isObeyed, widenedMembers } from '../confirmation/entry-access.ts';
import { isPackage, readReference } from '../run-config-of.ts';
import { canBecome, placeholdersIn } from '../entry/entry-variables.ts';
import { namesProgram, OWN_PROGRAM, defaultsOf, profileOf, type RegistryEntry } from '../entry/registry-entry.ts';
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
  /** Members that the request of an upgrade must have. */
  readonly confirm?: ToConfirm['settings'];
}

/** Values for variables of the new version, and the access of the workload after the upgrade. */
export interface UpgradeRequest {
  readonly permission_profile?: PermissionProfile;
  /** URL of the entry, where credentials would go to another server. */
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: readonly { readonly name: string; readonly target: string }[];
}

const NOT_SOURCED = 'the workload was not created from a registry entry: edit its image instead';
const NOT_FOUND = 'the registry no longer has the server: edit the workload, or add the server to the registry';
const OTHER_KIND = 'the registry entry has changed between an image and a remote server: create the workload again';
const NO_CONTAINER =
  'the registry entry has changed from a container image to a package, which runs as a process of your user: create the workload again';

const NEEDS_VALUES = 'the new version needs values for variables of its entry: create the workload again';

/** Compares a workload with its registry entry; undefined when the registry has none. */
export function upgradeCheckOf(config: RunConfig, entry: RegistryEntry | undefined): UpgradeCheck {
  const { name = '', registry_server_name: server = '', image = '', remote_url: url = '' } = config;
  const named = { workload_name: name, ...(server !== '' && { registry_server: server }) };
  const current = { ...named, ...(image !== '' && { current_image: image }) };
  if (server === '') return { ...current, status: 'not-registry-sourced', reason: NOT_SOURCED };
  if (!entry) return { ...current, status: 'server-not-found', reason: NOT_FOUND };
  if (namesProgram(entry)) return { ...current, status: 'unknown', reason: OWN_PROGRAM };
  if ((entry.image === undefined) !== (url !== '')) return { ...current, status: 'unknown', reason: OTHER_KIND };
  if (entry.image !== undefined && isPackage(entry.image) && !isPackage(image))
    return { ...current, status: 'unknown', reason: NO_CONTAINER };
  const isSame = entry.image === undefined ? isUrlOf(entry, url) : entry.image === image;
  if (!isSame && needsValues(entry)) return { ...current, status: 'unknown', reason: NEEDS_VALUES };
  const variables = missingFrom(config, entry);
  const drift = driftOf(config, entry);
  const toConfirm = upgradeToConfirm(config, entry, {});
  return {
    ...current,
    status: isSame ? 'up-to-date' : 'upgrade-available',
    ...(entry.image !== undefined && { candidate_image: entry.image }),
    ...(variables.length > 0 && { env_var_drift: variables }),
    ...(drift.length > 0 && { config_drift: drift }),
    ...(toConfirm && { confirm: toConfirm.settings }),
  };
}

/** Returns what the entry gives to the workload beyond its present access, unless the request repeats it. Pure. */
export function upgradeToConfirm(
  config: RunConfig,
  entry: RegistryEntry,
  request: UpgradeRequest,
): ToConfirm | undefined {
  const { env = {}, permission_profile: requested } = request;
  const asked = profileOf(entry);
  const members = requested === undefined ? widenedMembers(asked, presentProfile(config)) : [];
  const variables = newDefaults(config, entry, request).filter(([name]) => isObeyed(name));
  const url = urlAfter(config, entry);
  const isElsewhere = url !== request.url && sendsCredential(config) && !isSameOrigin(url, config.remote_url);
  if (members.length + variables.length === 0 && !isElsewhere) return undefined;
  return {
    paths: [
      ...members.map((member) => `permission_profile.${member}`),
      ...variables.map(([name]) => `env.${name}`),
      ...(isElsewhere ? ['url'] : []),
    ],
    settings: {
      ...(members.length > 0 && { permission_profile: asked }),
      ...(variables.length > 0 && { env: { ...env, ...Object.fromEntries(variables) } }),
      ...(isElsewhere && { url }),
    },
  };
}

/** Returns true for a workload that sends headers or tokens of the user to a remote server, other than those of a login there. */
const sendsCredential = ({ remote_url: url = '', remote_auth_config: login = {}, ...config }: RunConfig): boolean =>
  url !== '' &&
  [
    ...[config.header_forward, login.bearer_token, login.bearer_token_file],
    ...[config.token_exchange_config, config.upstream_swap_config, config.cloud_sts_config],
  ].some((credential) => credential !== undefined);

/** Returns true for a URL of the entry: its variables may have any value. */
function isUrlOf({ url = '', url_template: template }: RegistryEntry, current: string): boolean {
  return url === current || (template !== undefined && canBecome(template, current));
}

const needsValues = ({ url = '', variables = [] }: RegistryEntry): boolean =>
  variables.some(({ name, default: value }) => value === undefined && placeholdersIn(url).includes(name));

const isSameOrigin = (one: string, other = ''): boolean => URL.parse(one)?.origin === URL.parse(other)?.origin;

/** Returns undefined for the default profile. */
const presentProfile = ({ permission_profile: profile, permission_profile_name_or_path: name }: RunConfig) =>
  profile ?? (name === 'none' ? { name } : undefined);

/** Lists the defaults of the entry for variables that neither the workload nor the request sets. */
export function newDefaults(config: RunConfig, entry: RegistryEntry, request: UpgradeRequest): [string, string][] {
  const { env = {}, secrets = [] } = request;
  const set = new Set([...variablesOf(config), ...Object.keys(env), ...secrets.map(({ target }) => target)]);
  return defaultsOf(entry).filter(([name]) => !set.has(name));
}

/** Returns the check of a workload whose registry cannot be read. */
export const unknownCheck = (config: RunConfig, reason: string): UpgradeCheck => {
  const { reason: _notFound, ...check } = upgradeCheckOf(config, undefined);
  return check.status === 'not-registry-sourced'
    ? { ...check, reason: NOT_SOURCED }
    : { ...check, status: 'unknown', reason };
};

/** Returns the edit that upgrades a workload: image or URL, variables, and the profile of the request. All other settings stay. */
export function upgradeSettings(config: RunConfig, entry: RegistryEntry, request: UpgradeRequest): WorkloadSettings {
  const { env = {}, secrets = [], permission_profile: profile } = request;
  const defaults = newDefaults(config, entry, request);
  const added = { ...Object.fromEntries(defaults), ...config.env_vars, ...env };
  const given = new Set(secrets.map(({ target }) => target));
  const kept = (config.secrets ?? []).flatMap((text) => readReference(text) ?? []);
  return {
    ...(entry.image === undefined ? { url: urlAfter(config, entry) } : { image: entry.image }),
    ...(entry.package && { package: entry.package }),
    ...((defaults.length > 0 || Object.keys(env).length > 0) && { env_vars: added }),
    ...(profile && { permission_profile: profile }),
    ...(secrets.length > 0 && { secrets: [...kept.filter(({ target }) => !given.has(target)), ...secrets] }),
  };
}

const urlAfter = ({ remote_url: current = '' }: RunConfig, entry: RegistryEntry): string =>
  isUrlOf(entry, current) ? current : (entry.url ?? '');

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

function driftOf(config: RunConfig, entry: RegistryEntry): ConfigDrift[] {
  const { transport, target_port: port } = entry;
  const url = entry.url === undefined ? undefined : urlAfter(config, entry);
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
