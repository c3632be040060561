/** Clock of the controller. Tests use one that they move by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `task` once after `ms`. The returned function cancels it. */
  after(ms: number, task: () => void): () => void;
}
