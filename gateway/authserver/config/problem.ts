import type { Problem } from '../../contract/problem.ts';

export const problem = (reason: string, path: string, message: string): Problem => ({ reason, path, message });

export const missing = (path: string, advice: string): Problem => problem('MissingField', path, advice);

export const invalid = (path: string, message: string): Problem => problem('InvalidValue', path, message);

/** Problems whose paths start at a block, as the block's owner sees them. */
export const below = (prefix: string, problems: readonly Problem[]): Problem[] =>
  problems.map((found) => ({ ...found, path: `${prefix}.${found.path}` }));

/** Items that stand in a list before. */
export const repeated = (items: readonly string[], path: string, message: string): Problem[] =>
  items.flatMap((item, index) =>
    items.indexOf(item) === index ? [] : [invalid(`${path}[${String(index)}]`, message)],
  );
