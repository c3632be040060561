import { ApiError } from '../../gateway/kube/client.ts';

const MAX_MESSAGE = 1_000;
/** What stands in a field, as the API server quotes it. */
const QUOTED_VALUE = /\b(Invalid|Unsupported|Duplicate) value: ("(?:[^"\\]|\\.)*"|[^\s:,]+)/gu;

/** What a person is told of a run that fails again and again: what is wrong, and what to do. */
export function failureMessage(error: unknown): string {
  if (!(error instanceof ApiError))
    return 'the operator fails at this object: look into its log, and report what it says';
  const said = error.message.replace(QUOTED_VALUE, '$1 value').slice(0, MAX_MESSAGE);
  switch (error.status) {
    case 0:
      return `the operator does not reach the API server (${said}): look at the API server and the network between`;
    case 401:
    case 403:
      return `the API server forbids the operator what it needs (${said}): give the operator this right`;
    default:
      return `the API server fails (${said}): mend what it names, such as an admission webhook that does not answer`;
  }
}
