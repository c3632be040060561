/**
 * A user's mistake in a resource: found by `resolve`, printed as `file:line` locally, a condition in a cluster.
 * `reason` is a CamelCase word that is also the condition's reason; `path` starts at `spec` (or `metadata`).
 */
export interface Problem {
  readonly reason: string;
  readonly path: string;
  readonly message: string;
}

export const problem = (reason: string, path: string, message: string): Problem => ({ reason, path, message });

export const missing = (path: string, advice: string): Problem => problem('MissingField', path, advice);

export const invalid = (path: string, message: string): Problem => problem('InvalidValue', path, message);

/** Prefixes the paths of problems. */
export const below = (prefix: string, problems: readonly Problem[]): Problem[] =>
  problems.map((found) => ({ ...found, path: `${prefix}.${found.path}` }));

/** Returns a problem for each repeated item. */
export const repeated = (items: readonly string[], path: string, message: string): Problem[] =>
  items.flatMap((item, index) =>
    items.indexOf(item) === index ? [] : [invalid(`${path}[${String(index)}]`, message)],
  );
