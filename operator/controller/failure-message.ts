import { ApiError } from '../../gateway/kube/client.ts';

const MAX_MESSAGE = 1_000;
/** Field value quoted in a message of the API server. It may be secret. */
const QUOTED_VALUE = /\b(Invalid|Unsupported|Duplicate) value: ("(?:[^"\\]|\\.)*"|[^\s:,]+)/gu;

/** Returns the message for a user about a reconcile that fails repeatedly: the cause and the solution. */
export function failureMessage(error: unknown): string {
  if (!(error instanceof ApiError))
    return 'the operator cannot reconcile this object because of an internal error: see the log of the operator, and report the error';
  const detail = error.message.replace(QUOTED_VALUE, '$1 value').slice(0, MAX_MESSAGE);
  switch (error.status) {
    case 0:
      return `the operator cannot reach the API server (${detail}): check the API server and the network`;
    case 401:
    case 403:
      return `the API server denies the operator a permission (${detail}): grant it to the operator`;
    default:
      return `the API server returns an error (${detail}): fix the cause that it names, such as an admission webhook that does not respond`;
  }
}
