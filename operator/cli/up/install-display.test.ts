import { expect, it } from 'vitest';
import { openInstallDisplay, type Terminal } from './install-display.ts';

const ESCAPE = '\u001b[';

/** Terminal that keeps its lines and obeys "up" and "erase below". */
function terminal(columns = 60) {
  const lines = [''];
  const print = (text: string): void => {
    const [first = '', ...others] = text.split('\n');
    lines.push(`${lines.pop() ?? ''}${first}`, ...others);
  };
  const write = (text: string | Buffer): boolean => {
    const [before = '', ...commands] = String(text).split(ESCAPE);
    print(before);
    for (const command of commands) {
      const [, count = '', kind = '', rest = ''] = /^(\d*)([AJ])([^]*)$/u.exec(command) ?? [];
      if (kind === 'A') lines.splice(lines.length - 1 - Number(count), Number(count) + 1, '');
      print(rest);
    }
    return true;
  };
  return { lines, stream: { isTTY: true, columns, write } as unknown as Terminal };
}

it('shows one line for each server, updated in place below other output', () => {
  const { lines, stream } = terminal();
  const display = openInstallDisplay([stream], {});
  display?.show('files', { package: 'a@1', seconds: 0, files: 0 });
  display?.show('notes', { package: 'b@2', seconds: 0, files: 0 });
  stream.write('a line of the log\n');
  display?.show('files', { package: 'a@1', seconds: 2, files: 1_204 });
  const rows = ['files: installing, 2 s, 1,204 files: a@1', 'notes: installing, 0 s: b@2'];
  expect(lines).toEqual(['a line of the log', ...rows, '']);
  display?.end('files');
  expect(lines).toEqual(['a line of the log', rows[1], '']);
  display?.close();
  stream.write('the end\n');
  expect(lines).toEqual(['a line of the log', 'the end', '']);
});

it('shortens a line to the width of the terminal, and shows nothing that a terminal obeys', () => {
  const { lines, stream } = terminal(20);
  openInstallDisplay([stream], {})?.show('files', { package: '\u001b[2Ja-long-name', seconds: 0, files: 0 });
  expect(lines[0]).toHaveLength(19);
  expect(lines[0]).not.toContain('\u001b');
});

it('leaves pipes and simple terminals alone', () => {
  const { stream } = terminal();
  expect(openInstallDisplay([stream], { TERM: 'dumb' })).toBeUndefined();
  expect(openInstallDisplay([{ write: stream.write }], {})).toBeUndefined();
});
