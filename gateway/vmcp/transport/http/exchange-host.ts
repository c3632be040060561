import type { Dispatcher } from 'undici';
import type { BodyPieces } from './body-pieces.ts';

/** The channel that an exchange belongs to. */
export interface ExchangeHost {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly path: string;
  readonly maxReplyBytes: number;
  /** Sends `notifications/cancelled` with the gateway's id. */
  cancelled(ownId: string): void;
  sessionLost(): void;
  /** Called when the backend redirects to another path of its origin. Later requests go there. */
  moved(path: string): void;
  /** True when requests carry a session id, so that a session can be lost. */
  readonly hasSession: boolean;
  /** Returns the headers of a GET that resumes after an event. Rejects when no credential is available. */
  resumeHeaders(lastEventId: string): Promise<string[]>;
  /**
   * Receives the code of an error with status 400. Returns true when the backend does not speak the revision of the request any
   * more.
   */
  rejected?(code: number, method: string): boolean;
  /** Receives the headers of the reply before the sink receives any part of it. */
  replyHeaders?(headers: Readonly<Record<string, string | string[] | undefined>>): void;
}

/** Request on the wire: flat list of header names and values, and the body, which carries `ownId`. */
export interface Outgoing {
  readonly headers: string[];
  /** A large body is sent in pieces, and each piece is released once it is sent. */
  readonly body: Buffer | BodyPieces;
  readonly ownId: string;
  /** Returns the headers with the signature of the request; undefined for credentials that do not sign. */
  readonly sign: (() => Promise<string[]>) | undefined;
}
