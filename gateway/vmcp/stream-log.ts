/** Id of the stream of a session for messages that belong to no call. */
export const MAIN_STREAM = 'g';

/** Event of a stream as its clients receive it. */
export interface LoggedEvent {
  readonly sequence: number;
  /** Bytes of the whole event; undefined for the end of the stream. */
  readonly bytes: Buffer | undefined;
  /** JSON text of the id of the request that the stream answers; empty for the stream of a session. */
  readonly request: string;
}

/** Log of the streams of one session, from which other replicas continue them. */
export interface StreamLog {
  /**
   * Appends an event, and drops those before event `first`. `unsent` is its message when no client is connected: it goes to another
   * replica if that one has taken over the stream.
   */
  append(stream: string, first: number, event: LoggedEvent, unsent?: Buffer): void;
  forget(stream: string): void;
}
