import { OperationError } from '../../../http/endpoint/request-error.ts';
import { ApiError } from '../../../kube/api-error.ts';
import type { Problem } from '../../../contract/problem.ts';

export const NO_SERVER = 'the API server of the cluster does not respond: repeat the request later';

/** Returns the error of an operation while the API server is away; undefined for another error. */
export const unavailableOf = (error: unknown): OperationError | undefined =>
  error instanceof ApiError && (error.status === 0 || error.status >= 500)
    ? new OperationError('engine_unavailable', NO_SERVER)
    : undefined;

/** Returns the error of an operation for a failed request to the API server, with the API server's explanation. */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const unavailable = unavailableOf(error);
  if (unavailable) return unavailable;
  const { reason, message } = error;
  switch (reason) {
    case 'Invalid':
    case 'BadRequest':
      return new OperationError('invalid_workload', message);
    case 'AlreadyExists':
      return new OperationError('workload_exists');
    case 'Conflict':
      return new OperationError('changed_meanwhile', conflictText(message));
    case 'Forbidden':
      return new OperationError('refused_by_policy', message);
    default:
      return error;
  }
}

/** Conflict of field managers: `Apply failed with 1 conflict: conflict with "kubectl" using vmcp.dev/v1alpha1: .spec.image`. */
const OTHER_OWNER = /^Apply failed with \d+ conflicts?/u;

const conflictText = (message: string): string | undefined =>
  OTHER_OWNER.test(message)
    ? `another program manages fields that this would change: change them there. ${message}`
    : undefined;

/** Runs a task that sends requests to the API server. @throws OperationError */
export async function asOperation<Result>(task: () => Promise<Result>): Promise<Result> {
  try {
    return await task();
  } catch (error) {
    throw failureOf(error);
  }
}

/** Returns the error for settings that an object cannot hold. */
export const refusalOf = (problems: readonly Problem[]): OperationError =>
  new OperationError(
    'invalid_workload',
    problems.map(({ path, message, reason }) => `${path}: ${message} [${reason}]`).join('; '),
  );
