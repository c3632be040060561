export type UpstreamFault =
  | 'denied' // the user or the provider said no
  | 'mixed_up' // the callback belongs to another provider
  | 'rejected' // the provider does not take the code
  | 'misconfigured' // the operator must mend it: client, scopes, a secret file, a URL
  | 'bad_reply' // a reply that is not what the standards say, or not to be trusted
  | 'unavailable'; // the provider cannot be asked now

/** `page`: the flow cannot be trusted, so that nothing is redirected. Else the error of the authorization response. */
export type ClientAnswer = 'page' | 'access_denied' | 'server_error' | 'temporarily_unavailable';

const ANSWERS: Readonly<Record<UpstreamFault, ClientAnswer>> = {
  denied: 'access_denied',
  mixed_up: 'page',
  rejected: 'server_error',
  misconfigured: 'server_error',
  bad_reply: 'server_error',
  unavailable: 'temporarily_unavailable',
};

/** What the client may be told of a fault; all else is for the log. @see RFC 6749 §4.1.2.1 */
export const clientAnswer = (fault: UpstreamFault): ClientAnswer => ANSWERS[fault];

interface Facts {
  readonly providerError?: string | undefined;
  readonly providerSays?: string | undefined;
}

/** A leg failed. `message` is for the log and holds nothing that the provider wrote. */
export class UpstreamError extends Error {
  readonly fault: UpstreamFault;
  /** Error code of the provider, for the log. */
  readonly providerError: string | undefined;
  /** Its description, for the log: cleaned and cut. Never for the client. */
  readonly providerSays: string | undefined;
  constructor(fault: UpstreamFault, message: string, { providerError, providerSays }: Facts = {}) {
    super(message);
    this.name = 'UpstreamError';
    this.fault = fault;
    this.providerError = errorCode(providerError);
    this.providerSays = providerSays === undefined ? undefined : cleaned(providerSays);
  }
}

/** RFC 6749 §4.1.2.1, as far as it can be shown in a log. */
export const errorCode = (text: unknown): string | undefined =>
  typeof text === 'string' && /^[\x21\x23-\x5B\x5D-\x7E]{1,64}$/u.test(text) ? text : undefined;

const MAX_DESCRIPTION = 200;

/** Some providers repeat the code or the token that they do not like. */
const LIKE_A_TOKEN = /[\w.~+/=-]{20,}/gu;

const cleaned = (text: string): string =>
  text
    .replaceAll(LIKE_A_TOKEN, '[cut]')
    .slice(0, MAX_DESCRIPTION)
    .replaceAll(/[^\x20-\x7E]/gu, '?');
