import { expect, it } from 'vitest';
import {
  addressKey,
  decideRate,
  DOCUMENT_FETCHES_PER_ADDRESS,
  REGISTRATION_OVERALL,
  REGISTRATION_PER_ADDRESS,
  type Bucket,
  type RateLimit,
} from './rate.ts';

/** A bucket with requests at these times; true where one was let through. */
function run(limit: RateLimit, times: readonly number[]): readonly (true | number)[] {
  let bucket: Bucket | undefined;
  return times.map((now) => {
    const decision = decideRate(bucket, limit, now);
    if (!decision.allowed) return decision.retryAfterSeconds;
    bucket = decision.bucket;
    return true;
  });
}

it('lets a burst through, then says when to come again (row 46)', () => {
  expect(run(REGISTRATION_PER_ADDRESS, Array<number>(12).fill(0))).toEqual([...Array<true>(10).fill(true), 12, 12]);
  expect(run(DOCUMENT_FETCHES_PER_ADDRESS, Array<number>(11).fill(9))).toEqual([...Array<true>(10).fill(true), 6]);
  expect(run(REGISTRATION_OVERALL, Array<number>(21).fill(5))).toEqual([...Array<true>(20).fill(true), 1]);
});

it('lets one through exactly when Retry-After has passed', () => {
  const burst = Array<number>(10).fill(1_000);
  expect(run(REGISTRATION_PER_ADDRESS, [...burst, 12_999, 13_000, 13_000]).slice(10)).toEqual([1, true, 12]);
});

it('holds the rate over time', () => {
  const everySecond = Array.from({ length: 3_600 }, (_, second) => second * 1_000);
  const passed = run(REGISTRATION_PER_ADDRESS, everySecond).filter((one) => one === true);
  expect(passed).toHaveLength(10 + 299);
});

it('fills no further than its capacity, and is forgotten when it is full', () => {
  const first = decideRate(undefined, { capacity: 2, perSecond: 1 }, 0);
  expect(first).toEqual({ allowed: true, bucket: { tokens: 1, at: 0 }, keepMs: 1_000 });
  expect(run({ capacity: 2, perSecond: 1 }, [0, 0, 0, 1e9, 1e9, 1e9])).toEqual([true, true, 1, true, true, 1]);
});

it('gives nothing to a clock that goes back', () => {
  expect(run({ capacity: 2, perSecond: 1 }, [10_000, 0, 10_000])).toEqual([true, true, 1]);
  expect(run({ capacity: 1, perSecond: 1 }, [10_000, 5_000, 0, 10_500, 11_000])).toEqual([true, 1, 1, 1, true]);
});

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['not an address', 'unknown'],
])('counts %s as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});
