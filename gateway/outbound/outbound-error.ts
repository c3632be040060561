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
  constructor(kind: OutboundFault, message: string) {
    super(message);
    this.name = 'OutboundError';
    this.kind = kind;
  }
}

export const tooLarge = (maxBytes: number): OutboundError =>
  new OutboundError('too_large', `the reply is longer than ${String(maxBytes)} bytes`);
