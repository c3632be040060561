import { describe, expect, it } from 'vitest';
import { checksOf } from './outcome.ts';
import { pomOf } from './toolchains.ts';

const line = (name: string | undefined, tools: string[], echo = 'Echo: hello') => JSON.stringify({ name, tools, echo });
const both = ['everything_echo', 'memory_read_graph'];

describe('the output of a client', () => {
  it('is a check for each line of JSON', () => {
    const output = ['connecting', line('2025-11-25', both), line('2026-07-28', both)].join('\n');
    expect(checksOf(0, output, '')).toEqual([
      { name: 'lists and calls (2025-11-25)', outcome: 'passed', detail: '2 tools' },
      { name: 'lists and calls (2026-07-28)', outcome: 'passed', detail: '2 tools' },
    ]);
  });

  it.each([
    [0, line(undefined, ['everything_echo']), '', 'does not list memory_read_graph'],
    [0, line(undefined, both, 'other'), '', 'the call returned "other"'],
    [0, '', '', 'exit code 0: it printed nothing'],
    [1, 'at x\n', 'trace\nTypeError: no\n', 'exit code 1: TypeError: no'],
  ])('fails with code %i and %j', (code, stdout, stderr, detail) => {
    expect(checksOf(code, stdout, stderr)).toEqual([{ name: 'lists and calls', outcome: 'failed', detail }]);
  });
});

it('a build of Maven names its dependencies, and Spring Boot where it is needed', () => {
  expect(pomOf(['group:artifact:1.0'])).toContain(
    '<dependency><groupId>group</groupId><artifactId>artifact</artifactId><version>1.0</version></dependency>',
  );
  expect(pomOf(['group:artifact:1.0'])).not.toContain('<parent>');
  expect(pomOf(['group:artifact'], '4.0.7')).toContain('<version>4.0.7</version></parent>');
});
