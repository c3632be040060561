/**
 * A user's mistake in a resource: found by `resolve`, printed as `file:line` locally, a condition in a cluster.
 * `reason` is a CamelCase word that is also the condition's reason; `path` starts at `spec` (or `metadata`).
 */
export interface Problem {
  readonly reason: string;
  readonly path: string;
  readonly message: string;
}
