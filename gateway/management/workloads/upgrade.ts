import { Type } from 'typebox';
import { flag, text, textMap } from '../../contract/optional.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { CONFIRMATION_ERRORS, confirmationRequired } from '../../workloads/definition/confirmation/entry-access.ts';
import type { RegistryEntry } from '../../workloads/definition/entry/registry-entry.ts';
import { WorkloadSettings } from '../../workloads/definition/settings.ts';
import {
  missingVariables,
  newDefaults,
  unknownCheck,
  UPGRADE_STATES,
  upgradeCheckOf,
  upgradeSettings,
  upgradeToConfirm,
  type UpgradeCheck,
  type UpgradeRequest,
} from '../../workloads/definition/upgrade/upgrade.ts';
import type { DerivedSettings } from '../../workloads/workloads.ts';
import type { ManagementContext } from '../operation.ts';
import type { Entries } from '../registry/document/server-entries.ts';
import { READING_ERRORS } from '../registry/errors.ts';
import { findServer } from '../registry/lookup.ts';
import { READ_ERRORS, SETTINGS_ERRORS } from './shapes.ts';

const MissingVariable = Type.Object(
  {
    name: Type.String({ description: 'Name of the variable.' }),
    description: text('Meaning of the value.'),
    required: Type.Boolean({ description: 'The server needs a value.' }),
    secret: flag('The value is a secret.'),
  },
  { title: 'MissingVariable' },
);

const ConfigDrift = Type.Object(
  {
    setting: Type.Enum(['url', 'transport', 'target_port'], { description: 'Name of the setting.' }),
    current: Type.String({ description: 'Value of the workload.' }),
    candidate: Type.String({ description: 'Value of the registry entry.' }),
  },
  { title: 'ConfigDrift' },
);

/** Members of an upgrade that confirm what the entry gives beyond the access of the workload. */
export const Confirmed = Type.Object(
  {
    permission_profile: WorkloadSettings.properties.permission_profile,
    env: textMap('Environment variables to add or to replace.'),
    url: text('URL of the entry, where another server would get the credentials of the workload.'),
  },
  {
    title: 'UpgradeConfirmation',
    description: 'Access that the entry gives beyond that of the workload. An upgrade must repeat these members.',
  },
);

/** Comparison of a workload with its registry entry. */
export const UpgradeCheckBody = Type.Object(
  {
    workload_name: Type.String({ description: 'Name of the workload.' }),
    registry_server: text('Name of the registry entry.'),
    status: Type.Enum([...UPGRADE_STATES], { description: 'Result of the comparison.' }),
    current_image: text('Image or package of the workload.'),
    candidate_image: text('Image or package of the registry entry.'),
    reason: text('Why there is no comparison, and what to do.'),
    env_var_drift: Type.Optional(
      Type.Array(MissingVariable, { description: 'Variables of the entry that the workload does not set.' }),
    ),
    config_drift: Type.Optional(
      Type.Array(ConfigDrift, { description: 'Other settings that differ. An upgrade changes only `url` of these.' }),
    ),
    confirm: Type.Optional(Confirmed),
  },
  { title: 'WorkloadUpgradeCheck', description: 'Comparison of a workload with its registry entry.' },
);

const UNTOUCHED = 422;

const { managed_by_files, invalid_workload, image_not_found, ...others } = SETTINGS_ERRORS;

/** Errors of an upgrade. After those with status 422 the workload is as it was. */
export const UPGRADE_ERRORS = {
  ...READ_ERRORS,
  ...others,
  confirmation_required: { ...CONFIRMATION_ERRORS.confirmation_required, members: { confirm: Confirmed } },
  not_upgradable: { status: UNTOUCHED, message: 'the workload cannot be upgraded' },
  managed_by_files: { ...managed_by_files, status: UNTOUCHED },
  invalid_workload: { ...invalid_workload, status: UNTOUCHED },
  image_not_found: { ...image_not_found, status: UNTOUCHED },
};

/** Entries of the registry, or the reason why it cannot be read. */
type ReadRegistry = { readonly entries: Entries } | { readonly reason: string };

/** Reads the registry. A registry that cannot be read is a result, so that a check of many workloads always answers. */
export async function readRegistry({ registry }: Pick<ManagementContext, 'registry'>): Promise<ReadRegistry> {
  try {
    return { entries: await registry.entries() };
  } catch (error) {
    if (!(error instanceof OperationError) || !Object.hasOwn(READING_ERRORS, error.code)) throw error;
    const { message } = READING_ERRORS[error.code as keyof typeof READING_ERRORS];
    return { reason: error.detail ?? message };
  }
}

/** Compares a workload with the registry. */
export function checkOf(config: RunConfig, read: ReadRegistry): UpgradeCheck {
  return 'reason' in read
    ? unknownCheck(config, read.reason)
    : upgradeCheckOf(config, registryEntry(config, read.entries));
}

/** Returns the registry entry that a workload was created from. */
function registryEntry({ registry_server_name: name = '' }: RunConfig, entries: Entries): RegistryEntry | undefined {
  const found = name === '' ? undefined : findServer(entries, name);
  const entry = found?.server ?? found?.remote_server;
  return entry && { ...entry, name };
}

/** Returns the edit that upgrades a workload. Throws `not_upgradable` and `confirmation_required`. */
export function upgraded(config: RunConfig, read: ReadRegistry, request: UpgradeRequest): DerivedSettings {
  const { reason } = checkOf(config, read);
  const entry = 'entries' in read ? registryEntry(config, read.entries) : undefined;
  if (reason !== undefined || !entry) throw new OperationError('not_upgradable', reason);
  const missing = missingVariables(config, entry, request);
  if (missing.length > 0) {
    const message = `the new version requires values for ${missing.join(', ')}: set them in "env" or in "secrets"`;
    throw new OperationError('not_upgradable', message);
  }
  const toConfirm = upgradeToConfirm(config, entry, request);
  if (toConfirm) throw confirmationRequired(toConfirm);
  const defaults = newDefaults(config, entry, request);
  const from = { server: entry.name, settings: { env_vars: Object.fromEntries(defaults) } };
  return { settings: upgradeSettings(config, entry, request), ...(defaults.length > 0 && { from }) };
}
