import { ApiError } from '../../kube/api-error.ts';
import { StateFileError } from '../state/state-file.ts';
import type { ManagementError } from '../operation.ts';
import { SecretsFailure } from '../secrets/secrets-failure.ts';
import { UserFileError } from '../state/write-files.ts';

/** Failures of the place where vmcp runs, which every operation may meet. A person can mend them, so that the answer has the reason. */
export const COMMON_ERRORS = {
  secrets_unavailable: { status: 503, message: 'the secrets provider does not work now' },
  engine_unavailable: {
    status: 503,
    message: 'the API server of the cluster does not respond: repeat the request later',
  },
  cluster_refused: { status: 503, message: 'the API server of the cluster refuses a request of vmcp' },
  changed_meanwhile: { status: 409, message: 'an object changed meanwhile: repeat the request' },
  secrets_unusable: { status: 500, message: 'the stored secrets, or the choice of their provider, cannot be used' },
  state_unusable: { status: 500, message: 'a file of the state folder is damaged, or vmcp may not use it' },
  file_unusable: { status: 500, message: 'a file of the user cannot be read or written' },
  disk_full: { status: 500, message: 'the disk of vmcp is full: free some space, then try again' },
} as const satisfies Readonly<Record<string, ManagementError>>;

type CommonCode = keyof typeof COMMON_ERRORS;

interface CommonFailure {
  readonly code: CommonCode;
  /** Sentence for the user, without a secret. */
  readonly message: string;
}

const DISK_ADVICE: Readonly<Record<string, CommonFailure>> = {
  ENOSPC: { code: 'disk_full', message: COMMON_ERRORS.disk_full.message },
  EDQUOT: { code: 'disk_full', message: 'the disk quota of vmcp is used up: free some space, then try again' },
  EROFS: { code: 'state_unusable', message: 'the state folder of vmcp is read-only: make it writable, then try again' },
  EMFILE: {
    code: 'state_unusable',
    message: 'vmcp has too many open files: raise the limit (ulimit -n), or try again later',
  },
  ENFILE: { code: 'state_unusable', message: 'the machine has too many open files: end some programs, then try again' },
};

/** Returns the failure that `thrown`, or one of its causes, is; undefined for an error of vmcp. */
export function commonFailure(thrown: unknown): CommonFailure | undefined {
  if (!(thrown instanceof Error)) return undefined;
  return diskFailure(thrown) ?? knownFailure(thrown) ?? fileFailure(thrown) ?? commonFailure(thrown.cause);
}

/** Errors of vmcp about a file have the error of the system as their cause. */
function diskFailure(error: Error): CommonFailure | undefined {
  const { code, cause } = error as NodeJS.ErrnoException;
  return DISK_ADVICE[code ?? ''] ?? (cause instanceof Error ? diskFailure(cause) : undefined);
}

function knownFailure(error: Error): CommonFailure | undefined {
  const { message } = error;
  if (error instanceof SecretsFailure) {
    return { code: error.kind === 'broken' ? 'secrets_unusable' : 'secrets_unavailable', message };
  }
  if (error instanceof StateFileError) return { code: 'state_unusable', message };
  if (error instanceof UserFileError) return { code: 'file_unusable', message };
  return error instanceof ApiError ? clusterFailure(error) : undefined;
}

function clusterFailure({ status, message }: ApiError): CommonFailure {
  const isAway = status === 0 || status === 429 || status >= 500;
  if (isAway) return { code: 'engine_unavailable', message: COMMON_ERRORS.engine_unavailable.message };
  if (status === 409) return { code: 'changed_meanwhile', message: COMMON_ERRORS.changed_meanwhile.message };
  const advice = status === 404 ? 'install the CRDs and check the namespace' : 'check the rights of its ServiceAccount';
  return {
    code: 'cluster_refused',
    message: `the API server of the cluster refuses a request of vmcp (${message}): ${advice}`,
  };
}

/** Returns the failure of a system call on a path; undefined for other system errors. */
function fileFailure(error: Error): CommonFailure | undefined {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || path === undefined || syscall === undefined || syscall.startsWith('spawn'))
    return undefined;
  const message = `vmcp cannot use ${path} (${code}): check that it exists, and its permissions, then try again`;
  return { code: 'state_unusable', message };
}
