import { createHash } from 'node:crypto';
import { sortKeys } from '../resolve/config-check.ts';

/** Returns a digest of plain data that does not depend on the order of members. */
export const digest = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sortKeys(value)))
    .digest('hex')
    .slice(0, 32);
