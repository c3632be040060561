import { createHash } from 'node:crypto';
import { sortKeys } from '../resolve/config-check.ts';

/** Digest of plain data, the same whatever the order of its members. */
export const digest = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sortKeys(value)))
    .digest('hex')
    .slice(0, 32);
