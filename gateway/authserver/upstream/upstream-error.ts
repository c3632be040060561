import { cleaned, errorCode } from '../../contract/text/provider-text.ts';

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
