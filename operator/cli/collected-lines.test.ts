import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { collectedLines } from './collected-lines.ts';

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
    `import { collectedLines } from ${JSON.stringify(new URL('collected-lines.ts', import.meta.url).href)};
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
