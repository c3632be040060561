export type OutboundFault =
  | 'refused' // the guard does not let it out
  | 'timeout'
  | 'too_large'
  | 'unreachable' // no connection, no trusted certificate, no HTTP
  | 'redirect'; // a redirect that is not followed

/** No reply that can be used. `message` is for the log: hosts, addresses and system codes, nothing of any reply. */
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
