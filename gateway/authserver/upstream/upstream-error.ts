import { cleaned, errorCode } from '../../contract/text/provider-text.ts';
import { OutboundError, type OutboundFault } from '../../outbound/outbound-error.ts';

export type UpstreamFault =
  | 'denied' // the user or the provider denied the request
  | 'mixed_up' // the callback belongs to another provider
  | 'rejected' // the provider rejects the code
  | 'misconfigured' // the configuration is wrong: client, scopes, a secret file, a URL
  | 'bad_reply' // the reply violates the standards or cannot be trusted
  | 'unavailable'; // the provider cannot be reached now

/** `page`: an error page without a redirect, because the flow cannot be trusted. Otherwise the error for the client. */
export type ClientAnswer = 'page' | 'access_denied' | 'server_error' | 'temporarily_unavailable';

const ANSWERS: Readonly<Record<UpstreamFault, ClientAnswer>> = {
  denied: 'access_denied',
  mixed_up: 'page',
  rejected: 'server_error',
  misconfigured: 'server_error',
  bad_reply: 'server_error',
  unavailable: 'temporarily_unavailable',
};

/** Returns the error that the client receives for a fault; details are for the log. @see RFC 6749 §4.1.2.1 */
export const clientAnswer = (fault: UpstreamFault): ClientAnswer => ANSWERS[fault];

interface Facts {
  readonly status?: number | undefined;
  readonly providerError?: string | undefined;
  readonly providerDescription?: string | undefined;
}

/** A leg failed. `message` is for the log and contains no text of the provider. */
export class UpstreamError extends Error {
  readonly fault: UpstreamFault;
  /** Status of the rejected reply; undefined without a reply. */
  readonly status: number | undefined;
  /** Error code of the provider, for the log. */
  readonly providerError: string | undefined;
  /** Error description of the provider, for the log only: cleaned and truncated. */
  readonly providerDescription: string | undefined;
  constructor(fault: UpstreamFault, message: string, { status, providerError, providerDescription }: Facts = {}) {
    super(message);
    this.name = 'UpstreamError';
    this.fault = fault;
    this.status = status;
    this.providerError = errorCode(providerError);
    this.providerDescription = providerDescription === undefined ? undefined : cleaned(providerDescription);
  }
}

/** Facts about a failed operation, besides the error. */
interface FailedOperation {
  /** Status of the last reply; undefined before the first reply. */
  readonly status: number | undefined;
  /** Name of the operation, such as `the code exchange`. */
  readonly what: string;
}

const FAULT_OF_OUTBOUND: Readonly<Record<OutboundFault, UpstreamFault>> = {
  refused: 'misconfigured',
  timeout: 'unavailable',
  unreachable: 'unavailable',
  too_large: 'bad_reply',
  redirect: 'bad_reply',
  not_text: 'bad_reply',
};

/** Faults by error code of RFC 6749 §5.2, GitHub and Slack. All other codes concern the authorization code. */
const FAULT_OF_CODE: Readonly<Record<string, UpstreamFault>> = {
  invalid_client: 'misconfigured',
  invalid_scope: 'misconfigured',
  unauthorized_client: 'misconfigured',
  unsupported_grant_type: 'misconfigured',
  redirect_uri_mismatch: 'misconfigured',
  incorrect_client_credentials: 'misconfigured',
  bad_client_secret: 'misconfigured',
  invalid_client_id: 'misconfigured',
  bad_redirect_uri: 'misconfigured',
  temporarily_unavailable: 'unavailable',
  slow_down: 'unavailable',
};

/** Converts an error of openid-client or of the outbound guard. The message contains nothing from requests and replies. */
export function toUpstreamError(error: unknown, operation: FailedOperation): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const { what, status } = operation;
  const outbound = causesOf(error).find((cause) => cause instanceof OutboundError);
  if (outbound) return new UpstreamError(FAULT_OF_OUTBOUND[outbound.kind], `${what} failed: ${outbound.message}`);
  const busy = status !== undefined && (status >= 500 || status === 429 || status === 408);
  const refusal = refusalIn(error);
  if (refusal) {
    const code = refusal.providerError;
    const known = code !== undefined && Object.hasOwn(FAULT_OF_CODE, code) ? FAULT_OF_CODE[code] : undefined;
    return new UpstreamError(busy ? 'unavailable' : (known ?? 'rejected'), `${what} was rejected`, {
      ...refusal,
      status,
    });
  }
  if (busy) return new UpstreamError('unavailable', `${what} failed: the provider answered ${String(status)}`);
  return new UpstreamError('bad_reply', `${what} failed: ${reasonOf(error)}`, { status });
}

/** Returns `error` and `error_description` of the reply (`ResponseBodyError` of openid-client). */
function refusalIn(
  error: unknown,
): { providerError: string | undefined; providerDescription: string | undefined } | undefined {
  if (!(error instanceof Error) || error.name !== 'ResponseBodyError') return undefined;
  const { error: code, error_description: description } = error as { error?: unknown; error_description?: unknown };
  return {
    providerError: errorCode(code),
    providerDescription: typeof description === 'string' ? description : undefined,
  };
}

/** Returns the message of oauth4webapi or openid-client, which is constant. Deeper causes may quote a reply. */
function reasonOf(error: unknown): string {
  const words = causesOf(error).filter((cause) => FIXED_WORDS.has(cause.name));
  return words.at(-1)?.message ?? 'unexpected';
}

const FIXED_WORDS: ReadonlySet<string> = new Set([
  'ClientError',
  'OperationProcessingError',
  'UnsupportedOperationError',
]);

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 8; cause = cause.cause) causes.push(cause);
  return causes;
}
