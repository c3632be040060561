import { describe, expect, it } from 'vitest';
import { textLine, type LogEntry } from './log.ts';

const NOON = new Date(2026, 10, 23, 12, 5, 9);
const plain = (entry: LogEntry): string => textLine(entry, NOON, false);

describe('textLine', () => {
  it.each<[string, LogEntry, string]>([
    [
      'puts the backend before the sentence and the facts after it',
      { level: 'warn', message: 'backend does not answer', server: 'tools', reason: 'timeout', backend: 'memory' },
      '12:05:09  WARN   memory        backend does not answer  reason=timeout  server=tools',
    ],
    [
      'aligns a sentence without a subject',
      { level: 'info', message: 'gateway stopped' },
      '12:05:09  INFO                 gateway stopped',
    ],
    [
      'moves the sentence behind a long name',
      { level: 'error', message: 'stopped', workload: 'a-workload-with-a-long-name' },
      '12:05:09  ERROR  a-workload-with-a-long-name  stopped',
    ],
    [
      'quotes texts of several words and prints other values as JSON',
      { level: 'debug', message: 'x', detail: 'no "answer"', count: 3, list: ['a', 'b'], on: false },
      '12:05:09  DEBUG                x  detail="no \\"answer\\""  count=3  list=["a","b"]  on=false',
    ],
    [
      'leaves out facts without a value',
      { level: 'info', message: 'x', reason: undefined, detail: '', left: null },
      '12:05:09  INFO                 x  left=null',
    ],
    [
      'indents a fact of several lines below the others',
      { level: 'error', message: 'failed', error: 'Error: a\n    at b\n', path: '/mcp' },
      '12:05:09  ERROR                failed  path=/mcp\n    error:\n      Error: a\n          at b',
    ],
    [
      'replaces control characters, which could rewrite the terminal',
      { level: 'info', message: 'a\u001b[2J', backend: 'b\rc', detail: 'd\u0007', stderr: 'e\u009b\nf\u0000' },
      '12:05:09  INFO   b\uFFFDc           a\uFFFD[2J  detail=d\uFFFD\n    stderr:\n      e\uFFFD\n      f\uFFFD',
    ],
  ])('%s', (_, entry, line) => {
    expect(plain(entry)).toBe(line);
  });

  it('keeps a sentence on one line', () => {
    expect(plain({ level: 'info', message: 'a\nb', backend: 'c\nd' })).toBe(
      '12:05:09  INFO   c\uFFFDd           a\uFFFDb',
    );
  });

  it('colours level, subject and names of facts, and nothing else', () => {
    expect(textLine({ level: 'warn', message: 'late', backend: 'a', reason: 'timeout' }, NOON, true)).toBe(
      '\u001b[2m12:05:09\u001b[0m  \u001b[33mWARN \u001b[0m  \u001b[1ma           \u001b[0m  late  \u001b[2mreason=\u001b[0mtimeout',
    );
  });
});
