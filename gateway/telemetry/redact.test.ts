import { describe, expect, it } from 'vitest';
import { redact, redactText } from './redact.ts';

/** Characters of the hostile texts: a quadratic pattern takes more than ten seconds for them, a linear one a few milliseconds. */
const LENGTH = 256 * 1_024;

describe('redactText', () => {
  it.each([
    'eyJ-',
    'eyJ-vmcp-',
    'vmcp-',
    '__Host-vmcp-',
    'vac_',
    'vac_-vrt_-',
    'cookie:',
    'cookie   ',
    'set-cookie"',
    'Bearer ',
    'Bearer  a ',
    'basic\t',
    'a_token',
    'token_',
    'a-token-',
    '"token"  ',
    '"code":',
    '"code":"',
    'state=',
    '=',
    '"',
    ' ',
  ])('takes linear time for a text that repeats %j', (piece) => {
    for (const end of ['', '\n', '!']) {
      const text = piece.repeat(LENGTH / piece.length) + end;
      const startedAt = performance.now();
      redactText(text);
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    }
  });
});

describe('redact', () => {
  it('truncates long values and states their length', () => {
    const [value] = redact([`a${'b'.repeat(100_000)}`]) as string[];
    expect(value).toMatch(/^ab{4095}… \(100001 characters\)$/);
  });

  it.each([
    ['a JWT', 'eyJhbGciOiJFUzI1NiJ9.', ''],
    ['a member of JSON', '{"refresh_token":"', '"}'],
    ['a cookie of a page', 'vmcp-flow-x=', ''],
    ['a header', 'Authorization: Bearer ', ''],
  ])('redacts %s that the truncation of a value would split', (_what, before, after) => {
    const secret = 'Zm9v'.repeat(40);
    const value = redact(`${'-'.repeat(4_096 - before.length - 60)} ${before}${secret}${after}`);
    expect(value).not.toContain('Zm9vZm9v');
    expect(value).toContain('[redacted]');
  });
});
