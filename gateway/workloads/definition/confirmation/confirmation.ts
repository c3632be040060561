import { Type } from 'typebox';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { WorkloadSettings } from '../settings.ts';

/** Settings of a registry entry that a request must repeat. */
export interface ToConfirm {
  /** Paths of the members that give more access. */
  readonly paths: readonly string[];
  /** Members to add to the request. */
  readonly settings: object;
}

const Confirmed = Type.Object(
  Type.Pick(WorkloadSettings, ['image', 'permission_profile', 'env_vars', 'oauth_config']).properties,
  { description: 'Settings of the entry that give more access. A request with these members confirms them.' },
);

/** Error of an operation that would take over more access from a registry entry than a workload has without it. */
export const CONFIRMATION_ERRORS = {
  confirmation_required: {
    status: 422,
    message: 'the registry entry gives the workload more access: repeat the request with the members of "confirm"',
    isStructured: true,
    members: { confirm: Confirmed },
  },
};

/** Returns the error that lists what a request must repeat. Nothing has changed. */
export function confirmationRequired({ paths, settings }: ToConfirm): OperationError {
  const message = `the registry entry gives the workload more access by ${paths.join(', ')}: to allow it, repeat the request with the members of "confirm"; to refuse it, with other values`;
  return new OperationError('confirmation_required', message, { confirm: settings });
}
