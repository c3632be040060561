import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCommandLog, lowestLevel, type LogFlags } from './log-flags.ts';

/** Returns what a warning and a debug entry write to this stderr. */
function written(stderr: { isTTY?: true; hasColors?: () => boolean }, flags: LogFlags): string {
  const stream = Object.assign(new PassThrough(), stderr);
  const log = createCommandLog(stream, flags, 'info');
  log.warn('late');
  log.debug('detail');
  vi.runAllTimers();
  return String(stream.read());
}

describe('createCommandLog', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each<[string, { isTTY?: true; hasColors?: () => boolean }, LogFlags, RegExp]>([
    ['writes JSON lines to a pipe', {}, {}, /^\{"message":"late",.*\}\n$/u],
    ['writes text to a terminal', { isTTY: true }, {}, /^[\d:]{8} {2}WARN {17}late\n$/u],
    ['colours a terminal that has colours', { isTTY: true, hasColors: () => true }, {}, /\[33mWARN/u],
    ['colours nothing with NO_COLOR', { isTTY: true, hasColors: () => false }, {}, /^[\d:]{8} {2}WARN /u],
    [
      'writes text to a pipe on request, without colours',
      { hasColors: () => true },
      { logFormat: 'text' },
      /^[\d:]{8} {2}WARN /u,
    ],
    [
      'writes JSON lines to a terminal on request',
      { isTTY: true },
      { logFormat: 'json' },
      /^\{"message":"late",.*\}\n$/u,
    ],
    ['writes the level of --log-level', {}, { logLevel: 'debug' }, /"late".*\n.*"detail"/u],
  ])('%s', (_, stderr, flags, line) => {
    expect(written(stderr, flags)).toMatch(line);
  });
});

it('writes a warning to a pipe at once, and entries of --log-level error only', () => {
  const stream = new PassThrough();
  const log = createCommandLog(stream, {}, 'info');
  for (const message of ['first', 'second']) log.info(message);
  log.warn('third');
  expect(String(stream.read()).match(/first|second|third/gu)).toEqual(['first', 'second', 'third']);
  const errors = createCommandLog(stream, { logLevel: 'error' }, 'info');
  errors.warn('fourth');
  errors.error('fifth');
  expect(String(stream.read())).toMatch(/^\{"message":"fifth",.*\}\n$/u);
});

describe('lowestLevel', () => {
  it.each([
    [[], 'info'],
    [[undefined, 'warn'], 'info'],
    [['error', 'warn'], 'warn'],
    [['error', 'debug'], 'debug'],
  ] as const)('of %j is %s', (levels, level) => {
    expect(lowestLevel(levels)).toBe(level);
  });
});
