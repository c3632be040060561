import type { TooManySessions } from '../session.ts';

/** State of a connection of HTTP+SSE (2024-11-05) for one principal. */
export type ConnectionState =
  | { readonly kind: 'unknown' | 'foreign' }
  | { readonly kind: 'waiting' } // for `initialize`
  | { readonly kind: 'open' } // with a session
  | { readonly kind: 'created' } // a session, with the result of `initialize` on the stream
  | { readonly kind: 'rejected'; readonly code: number }; // `initialize`, with an error on the stream

/** Failure of `initialize` at the replica with the connection. */
export type ConnectionFault =
  | { readonly kind: 'full'; readonly of: TooManySessions['of'] }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'failed' };

export type ConnectionReply = ConnectionState | ConnectionFault;
