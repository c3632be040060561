import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 4096;

/**
 * Returns a source of cryptographic randomness that reads larger blocks, since each read has a fixed cost. Returned bytes
 * are wiped from the pool.
 */
export function randomPool(): (bytes: number) => Buffer {
  const pool = Buffer.alloc(POOL_BYTES);
  let next = POOL_BYTES;
  return (bytes) => {
    if (bytes > POOL_BYTES) throw new RangeError(`at most ${String(POOL_BYTES)} random bytes at once`);
    if (next + bytes > POOL_BYTES) {
      randomFillSync(pool);
      next = 0;
    }
    const given = Buffer.from(pool.subarray(next, next + bytes));
    pool.fill(0, next, next + bytes);
    next += bytes;
    return given;
  };
}
