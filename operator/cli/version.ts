import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Root folder of the package, with package.json and node_modules. */
export const PROJECT_ROOT = findRoot(import.meta.dirname);

export const VERSION = (JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string })
  .version;

function findRoot(from: string): string {
  try {
    readFileSync(join(from, 'package.json'));
    return from;
  } catch (error) {
    if (dirname(from) === from) throw error;
    return findRoot(dirname(from));
  }
}
