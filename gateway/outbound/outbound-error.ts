import type { OutboundRefused } from './policy.ts';

export type OutboundFault =
  | 'refused' // the guard rejects the request
  | 'timeout'
  | 'too_large'
  | 'unreachable' // no connection, no trusted certificate, no HTTP
  | 'redirect' // a redirect that is not followed
  | 'not_text'; // a success whose body is not UTF-8

/** No usable reply. `message` is for the log: it names hosts, addresses and system codes, and quotes no reply. */
export class OutboundError extends Error {
  readonly kind: OutboundFault;
  /** Rule that the URL or the address breaks. */
  readonly refusal: OutboundRefused['reason'] | undefined;
  constructor(kind: OutboundFault, message: string, refusal?: OutboundRefused['reason']) {
    super(message);
    this.name = 'OutboundError';
    this.kind = kind;
    this.refusal = refusal;
  }
}

/** Returns the error of a request that the policy refuses. */
export const refusedBy = ({ reason, message }: OutboundRefused): OutboundError =>
  new OutboundError('refused', message, reason);

export const tooLarge = (maxBytes: number): OutboundError =>
  new OutboundError('too_large', `the reply is longer than ${String(maxBytes)} bytes`);
