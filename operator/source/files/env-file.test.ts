import { describe, expect, it } from 'vitest';
import { parseEnvText } from './env-file.ts';

const valuesOf = (text: string) => Object.fromEntries(parseEnvText(text).values);

describe('the text of a .env file', () => {
  it.each<[string, string, Record<string, string>]>([
    ['lines', 'A=1\nB=two words\n', { A: '1', B: 'two words' }],
    ['nothing', '', {}],
    ['comments and empty lines', '# A=1\n\n  # B\nC=3 # three\n', { C: '3' }],
    ['the prefix export', 'export A=1\n  export\tB = 2\n', { A: '1', B: '2' }],
    ['double quotes', 'A=" a # b "\n', { A: ' a # b ' }],
    ['single quotes', `A='it has "quotes"' # and a comment\n`, { A: 'it has "quotes"' }],
    ['quotes over several lines', 'A="one\ntwo # 2\nthree"\nB=4', { A: 'one\ntwo # 2\nthree', B: '4' }],
    ['a line end in double quotes', String.raw`A="one\ntwo"`, { A: 'one\ntwo' }],
    ['empty values', 'A=\nB=""\nC= # none\nD=4', { A: '', B: '', C: '', D: '4' }],
    ['Windows line ends', 'A=1\r\nB="2"\r\n', { A: '1', B: '2' }],
    ['no expansion', 'A=1\nB=$A\nC="${A}"\n', { A: '1', B: '$A', C: '${A}' }],
    ['equals signs and quotes inside', `A=x=y==\nB=it's\n`, { A: 'x=y==', B: "it's" }],
    ['a name twice, of which the last applies', 'A=1\nA=2\n', { A: '2' }],
    ['names of object members', 'constructor=1\n__proto__=2\n', JSON.parse('{"constructor":"1","__proto__":"2"}')],
  ])('has %s', (_, text, values) => {
    expect(valuesOf(text)).toEqual(values);
    expect(parseEnvText(text).faults).toEqual([]);
  });

  it.each<[string, string, number, RegExp]>([
    ['a line without =', 'A=1\ncanary\nB=2', 2, /NAME=value/u],
    ['a name with a hyphen', 'canary-A=1', 1, /NAME=value/u],
    ['a line of YAML', 'canary: value', 1, /NAME=value/u],
    ['a # that would cut the value off', 'A=1\n\nB=canary#1', 3, /put the value in quotes/u],
    ['a value that starts with #', 'A=#canary', 1, /put the value in quotes/u],
    ['a quote that is not closed', 'A=1\nB="canary\nC=3', 2, /not closed/u],
    ['text after a quote', 'A="canary"canary', 1, /after the closing quote/u],
    ['a NUL byte', 'A=can\0ary', 1, /NUL/u],
  ])('is reported with its line and without its content: %s', (_, text, line, message) => {
    const { faults } = parseEnvText(text);
    expect(faults).toEqual([{ line, message: expect.stringMatching(message) as string }]);
    expect(faults[0]?.message).not.toContain('canary');
  });

  it('has the values of its valid lines beside a broken line', () => {
    expect(valuesOf('A=1\nbroken\nB=2')).toEqual({ A: '1', B: '2' });
  });
});
