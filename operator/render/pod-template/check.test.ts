import { describe, expect, it } from 'vitest';
import { canonicalQuantity, isLarger } from './check.ts';

/** Quantities and the values that kube-apiserver 1.36 returned for them. */
const RETURNED: readonly (readonly [string, string])[] = [
  ['0', '0'],
  ['0.0', '0'],
  ['0Mi', '0'],
  ['1', '1'],
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['0.5', '500m'],
  ['.5', '500m'],
  ['0.25', '250m'],
  ['2.50', '2500m'],
  ['1000', '1k'],
  ['1001', '1001'],
  ['100M', '100M'],
  ['1000M', '1G'],
  ['1500M', '1500M'],
  ['1.5G', '1500M'],
  ['1024Mi', '1Gi'],
  ['1000Mi', '1000Mi'],
  ['1536Mi', '1536Mi'],
  ['0.5Gi', '512Mi'],
  ['1.5Gi', '1536Mi'],
  ['0.5Ki', '512'],
  ['1Ki', '1Ki'],
  ['1.5Ki', '1536'],
  ['2048Ki', '2Mi'],
  ['1e3', '1e3'],
  ['12e2', '1200'],
  ['1e-3', '1e-3'],
  ['1e6', '1e6'],
  ['100u', '100u'],
  ['0.0000000001', '1n'],
  ['1E', '1E'],
  ['1Ei', '1Ei'],
  ['0.001Mi', '1048576m'],
  ['1.1Gi', '1181116006400m'],
  ['33.3Mi', '34917580800m'],
  ['1.0001Ki', '1024102400u'],
];

/** Quantities that the API server returns unchanged; it also returns our form of them unchanged. */
const UNUSUAL: typeof RETURNED = [
  ['+1', '1'],
  ['5.', '5'],
  ['1E3', '1e3'],
  ['10e0', '10'],
];

describe('canonicalQuantity', () => {
  it.each([...RETURNED, ...UNUSUAL])('%s is %s', (given, returned) => {
    expect(canonicalQuantity(given)).toBe(returned);
  });

  it.each(RETURNED)('keeps the canonical form of %s: %s', (_given, returned) => {
    expect(canonicalQuantity(returned)).toBe(returned);
  });

  it.each(['', 'much', '1 Gi', '1gi', '1K', '1KB', 'Mi', '0x10', '1.2.3', '1e', 'NaN', '9'.repeat(60), '1e99999'])(
    'refuses %j',
    (text) => {
      expect(canonicalQuantity(text)).toBeUndefined();
    },
  );
});

describe('isLarger', () => {
  it.each([
    ['2', '1', true],
    ['1', '1000m', false],
    ['1Gi', '1000Mi', true],
    ['1G', '1Gi', false],
    ['0', '-1', true],
    ['much', '1', false],
  ])('%s than %s: %s', (text, than, larger) => {
    expect(isLarger(text, than)).toBe(larger);
  });
});
