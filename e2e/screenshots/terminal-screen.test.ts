import { describe, expect, it } from 'vitest';
import { terminalLines } from './terminal-screen.ts';

const textOf = (output: string, columns = 80): string[] =>
  terminalLines(output, columns).map((line) => line.map(({ text }) => text).join(''));

describe('terminalLines', () => {
  it('keeps colours, bold and dim', () => {
    const output = '\u001b[2m10:00:00\u001b[0m  \u001b[33mWARN\u001b[0m \u001b[1;31mfiles\u001b[0m done\r\n';
    expect(terminalLines(output, 80)).toEqual([
      [
        { text: '10:00:00', style: { isDim: true } },
        { text: '  ', style: {} },
        { text: 'WARN', style: { color: 'yellow' } },
        { text: ' ', style: {} },
        { text: 'files', style: { isBold: true, color: 'red' } },
        { text: ' done', style: {} },
      ],
    ]);
  });

  it('ends the colour and the weight separately', () => {
    const output = '\u001b[1m\u001b[36ma\u001b[39mb\u001b[22mc\u001b[36md\u001b[22me\u001b[39mf';
    expect(terminalLines(output, 80)).toEqual([
      [
        { text: 'a', style: { isBold: true, color: 'cyan' } },
        { text: 'b', style: { isBold: true } },
        { text: 'c', style: {} },
        { text: 'de', style: { color: 'cyan' } },
        { text: 'f', style: {} },
      ],
    ]);
  });

  it.each([
    ['a spinner that is erased', '\u001b[1G\u001b[0K⠙\u001b[1G\u001b[0K⠹\u001b[1G\u001b[0Kadded 5\r\n', ['added 5']],
    ['a counter that is overwritten', '1 of 12\r2 of 12\rdone\u001b[K\r\n', ['done']],
    ['an erased line above', 'one\r\ntwo\r\n\u001b[1A\u001b[2K\rthree\r\n', ['one', 'three']],
    ['characters that are taken back', 'ab\bc\r\n', ['ac']],
    ['the title of a window and a hidden cursor', '\u001b]0;npm ci\u0007\u001b[?25lhello\u001b[?25h\r\n', ['hello']],
  ])('shows the last state of %s', (_, output, lines) => {
    expect(textOf(output)).toEqual(lines);
  });

  it('continues a long line in the next one', () => {
    expect(textOf('abcdefgh\r\nij\r\n', 5)).toEqual(['abcde', 'fgh', 'ij']);
  });

  it('keeps empty lines between others, and no blanks at the end', () => {
    expect(textOf('a  \r\n\r\nb\r\n\r\n\r\n')).toEqual(['a', '', 'b']);
  });
});
