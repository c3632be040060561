import { PassThrough } from 'node:stream';
import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCommandLog, lowestLevel, type LogFlags, collectedLines } from './flags.ts';

describe('log flags', () => {
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
});

describe('collectedLines', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function collected() {
    const writes: string[] = [];
    return { writes, ...collectedLines({ write: (text: string) => writes.push(text) > 0 }) };
  }

  it('writes the first line at once and those of the next 10 ms together', () => {
    const { writes, stream } = collected();
    for (const line of ['a\n', 'b\n', 'c\n']) stream.write(line);
    expect(writes).toEqual(['a\n']);
    vi.advanceTimersByTime(9);
    expect(writes).toEqual(['a\n']);
    vi.advanceTimersByTime(1);
    expect(writes).toEqual(['a\n', 'b\nc\n']);
  });

  it('keeps one write for 10 ms while lines keep coming, and starts again after a pause', () => {
    const { writes, stream } = collected();
    stream.write('a\n');
    stream.write('b\n');
    vi.advanceTimersByTime(10);
    stream.write('c\n');
    expect(writes).toEqual(['a\n', 'b\n']);
    vi.advanceTimersByTime(20);
    stream.write('d\n');
    expect(writes).toEqual(['a\n', 'b\n', 'c\n', 'd\n']);
  });

  it('writes the lines that wait on request', () => {
    const { writes, stream, flush } = collected();
    for (const line of ['a\n', 'b\n', 'urgent\n']) stream.write(line);
    flush();
    expect(writes).toEqual(['a\n', 'b\nurgent\n']);
    flush();
    expect(writes).toHaveLength(2);
  });

  it('does not let more than 64 KiB wait', () => {
    const { writes, stream } = collected();
    stream.write('a\n');
    const long = `${'x'.repeat(40_000)}\n`;
    stream.write(long);
    expect(writes).toEqual(['a\n']);
    stream.write(long);
    expect(writes).toEqual(['a\n', long + long]);
  });
});

describe('a process with collected lines', () => {
  const program = (end: string): string =>
    `import { collectedLines } from ${JSON.stringify(new URL('flags.ts', import.meta.url).href)};
    const { stream: lines } = collectedLines(process.stderr);
    process.on('exit', () => lines.write('last\\n'));
    for (const line of ['a', 'b', 'c']) lines.write(line + '\\n');
    ${end}`;
  const run = (end: string) =>
    spawnSync(process.execPath, ['--input-type=module', '--eval', program(end)], { encoding: 'utf8' });

  it('loses no line when it ends, exits or throws', () => {
    expect(run('').stderr).toBe('a\nb\nc\nlast\n');
    expect(run('process.exit(3);')).toMatchObject({ status: 3, stderr: 'a\nb\nc\nlast\n' });
    const thrown = run('throw new Error("an unexpected error");');
    expect(thrown.status).toBe(1);
    expect(thrown.stderr).toContain('an unexpected error');
    expect(thrown.stderr.split('\n')).toEqual(expect.arrayContaining(['a', 'b', 'c']));
  });
});
