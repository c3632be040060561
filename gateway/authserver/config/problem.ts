import type { Problem } from '../../contract/problem.ts';

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
