import { OperationError } from '../../../http/endpoint/request-error.ts';
import { WORKLOAD_ERRORS } from '../../workloads.ts';

const MESSAGES: Readonly<Record<string, { readonly message: string }>> = WORKLOAD_ERRORS;

/** System calls of files. */
const OF_FILES = /^(?:open|read|write|close|fsync|rename|unlink|rm|rmdir|mkdir|scandir|stat|lstat|chmod|copyfile)$/u;

/** Returns the sentence of `status_context` for the error of a start, an edit or a removal. It says what to do. */
export function faultSentence(error: unknown): string {
  if (error instanceof OperationError) return error.detail ?? MESSAGES[error.code]?.message ?? error.message;
  if (!(error instanceof Error)) return String(error);
  const { code, syscall = '' } = error as NodeJS.ErrnoException;
  if (code === undefined || !OF_FILES.test(syscall)) return error.message;
  return `a file of vmcp cannot be read or written (${code}): check the disk space and the permissions of the state folder, then restart the workload`;
}
