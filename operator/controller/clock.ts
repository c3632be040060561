/** Time as the controller sees it: one that tests can move. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `task` once after `ms`; the function returned prevents it. */
  after(ms: number, task: () => void): () => void;
}
