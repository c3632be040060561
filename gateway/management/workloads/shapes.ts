import { Type } from 'typebox';
import { CONFIRMATION_ERRORS } from '../../workloads/definition/confirmation/entry-access.ts';
import { FromRegistry } from '../../workloads/definition/entry/registry-entry.ts';
import { WORKLOAD_NAME } from '../../workloads/definition/settings.ts';
import { WORKLOAD_ERRORS } from '../../workloads/workloads.ts';
import { READING_ERRORS } from '../registry/errors.ts';

export const WorkloadPath = Type.Object({
  name: Type.String({ pattern: WORKLOAD_NAME, description: 'Name of the workload.' }),
});

/** Code of the error for a malformed name in the path. */
export const PATH_ERRORS = { name: 'invalid_name' };

const { invalid_name, workload_not_found, managed_by_files, changed_meanwhile, engine_unavailable } = WORKLOAD_ERRORS;
const { image_not_found, image_unavailable, server_not_found, group_not_found, invalid_workload, refused_by_policy } =
  WORKLOAD_ERRORS;

/** Errors of operations that read one workload. */
export const READ_ERRORS = { invalid_name, workload_not_found, engine_unavailable };

/** Errors of operations that change the state of workloads. */
export const CHANGE_ERRORS = {
  managed_by_files,
  invalid_workload,
  refused_by_policy,
  changed_meanwhile,
  engine_unavailable,
};

/** A group in the body of a request: an absent one is an error of the body. */
export const GROUP_IN_BODY = { group_not_found: { ...group_not_found, status: 400 } };

/** Errors of operations that validate settings. */
export const SETTINGS_ERRORS = {
  invalid_name,
  image_not_found,
  image_unavailable,
  ...GROUP_IN_BODY,
  ...CHANGE_ERRORS,
};

/** Errors of settings that name an entry of the registry. */
export const REGISTRY_ERRORS = { server_not_found, ...CONFIRMATION_ERRORS, ...READING_ERRORS };

/** Port of a workload that was created or changed. */
export const PlacedAnswer = Type.Object(
  {
    name: Type.String({ description: 'Name of the workload.' }),
    port: Type.Integer({ description: 'Port on which clients reach it; 0 before one is chosen.' }),
  },
  { title: 'PlacedWorkload' },
);

/** As `PlacedAnswer`, with the settings that a registry entry has chosen. */
export const PlacedFromRegistry = Type.Object(
  {
    ...PlacedAnswer.properties,
    from_registry: Type.Optional(FromRegistry),
  },
  { title: 'CreatedWorkload' },
);
