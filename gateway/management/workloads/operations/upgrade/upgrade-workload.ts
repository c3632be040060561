import { Type } from 'typebox';
import type { RunConfig } from '../../../../contract/run-config/run-config.ts';
import { OperationError } from '../../../../http/endpoint/request-error.ts';
import {
  CONFIRMATION_ERRORS,
  confirmationRequired,
} from '../../../../workloads/definition/confirmation/confirmation.ts';
import type { DerivedSettings } from '../../../../workloads/workloads.ts';
import {
  missingVariables,
  newDefaults,
  upgradeSettings,
  upgradeToConfirm,
  type UpgradeRequest,
} from '../../../../workloads/definition/upgrade/upgrade.ts';
import { WorkloadSettings } from '../../../../workloads/definition/settings.ts';
import { API_BASE, defineManagementOperation, TRANSFER_TIMEOUT_MS } from '../../../operation.ts';
import { checkOf, Confirmed, entryOf, readRegistry, type ReadRegistry } from './upgrade-shapes.ts';
import { PATH_ERRORS, PlacedFromRegistry, READ_ERRORS, SETTINGS_ERRORS, WorkloadPath } from '../workload-request.ts';

const UNTOUCHED = 422;

const { managed_by_files, invalid_workload, image_not_found, ...others } = SETTINGS_ERRORS;

/** Errors of an upgrade. After those with status 422 the workload is as it was. */
const ERRORS = {
  ...READ_ERRORS,
  ...others,
  confirmation_required: { ...CONFIRMATION_ERRORS.confirmation_required, members: { confirm: Confirmed } },
  not_upgradable: { status: UNTOUCHED, message: 'the workload cannot be upgraded' },
  managed_by_files: { ...managed_by_files, status: UNTOUCHED },
  invalid_workload: { ...invalid_workload, status: UNTOUCHED },
  image_not_found: { ...image_not_found, status: UNTOUCHED },
};

export const upgradeWorkload = defineManagementOperation({
  id: 'upgradeWorkload',
  method: 'POST',
  path: `${API_BASE}/workloads/{name}/upgrade`,
  tag: 'workloads',
  summary: 'Upgrade a workload to its registry entry',
  description:
    'Edits the image, or the URL of a remote server, and adds the defaults of new variables. All other settings stay. ' +
    'An entry that gives more access than the workload has needs the request to repeat it. ' +
    'As with an edit, the workload is replaced after the answer. After an answer of 422 it is as it was.',
  input: {
    path: WorkloadPath,
    body: Type.Object({ ...Confirmed.properties, secrets: WorkloadSettings.properties.secrets }),
  },
  success: { status: 200, body: PlacedFromRegistry },
  errors: ERRORS,
  pathErrors: PATH_ERRORS,
  timeoutMs: TRANSFER_TIMEOUT_MS,
  run: async (context, { path: { name }, body }, { signal }) => {
    await context.workloads.get(name); // an unknown name is an error even if the registry cannot be read
    const read = await readRegistry(context);
    return context.workloads.edit(name, (config) => upgraded(config, read, body), signal);
  },
});

/** Returns the edit that upgrades a workload. Throws `not_upgradable` and `confirmation_required`. */
function upgraded(config: RunConfig, read: ReadRegistry, request: UpgradeRequest): DerivedSettings {
  const { reason } = checkOf(config, read);
  const entry = 'entries' in read ? entryOf(config, read.entries) : undefined;
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
