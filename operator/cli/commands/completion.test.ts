import { spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from './index.ts';
import { completionScript } from './completion.ts';

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vmcp-completion-'));
  await writeFile(join(folder, 'my servers.yaml'), '');
  await copyFile(join(import.meta.dirname, 'testdata', 'offers.zsh'), join(folder, '.offers.zsh'));
  for (const shell of ['bash', 'zsh', 'fish'] as const)
    await writeFile(join(folder, `.vmcp.${shell}`), completionScript(shell, COMMANDS));
});
afterAll(() => rm(folder, { recursive: true }));

const NAMES = COMMANDS.map((command) => command.name());
/** Words that a shell offers at the end of a command line; options only after a hyphen. */
const CASES: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['vmcp ', NAMES],
  ['vmcp val', ['validate']],
  ['vmcp --v', ['--version']],
  ['vmcp up --po', ['--port']],
  ['vmcp up --log-format ', ['json', 'text']],
  ['vmcp validate -o ', ['json']],
  ['vmcp completion ', ['bash', 'fish', 'zsh']],
  ['vmcp up my', ['my servers.yaml']],
  ['vmcp up --watch my', ['my servers.yaml']],
  ['vmcp up completion my', ['my servers.yaml']],
  ['vmcp up completion b', []],
  ['vmcp init my', ['my servers.yaml']],
  ['vmcp gateway --config my', ['my servers.yaml']],
  ['vmcp up --port ', []],
  ['vmcp version ', []],
  ['vmcp unknown ', []],
];
const LINES = CASES.map(([line]) => line);

/** Commands that print the offered words of each line, and a line with "--" behind those of each. */
const SHELLS = {
  bash: () => {
    const offers = LINES.map((line) => {
      const words = line.split(' ');
      const quoted = words.map((word) => `'${word}'`).join(' ');
      return `COMP_WORDS=(${quoted}); COMP_CWORD=${String(words.length - 1)}; _vmcp; printf '%s\\n' "\${COMPREPLY[@]}" --`;
    });
    return ['--norc', '-c', `. ./.vmcp.bash\n${offers.join('\n')}`];
  },
  zsh: () => ['-f', '.offers.zsh', ...LINES],
  fish: () => [
    '--no-config',
    '-c',
    'source .vmcp.fish; for line in $argv; complete -C $line; echo -- --; end',
    ...LINES,
  ],
};

/** Returns the offered words of each line, as this shell shows them. */
function offeredBy(shell: keyof typeof SHELLS): string[][] {
  const env = { PATH: process.env['PATH'], HOME: folder, LANG: 'C.UTF-8' };
  const { stdout, stderr } = spawnSync(shell, SHELLS[shell](), { cwd: folder, env, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout
    .split(/^--\n/mu)
    .slice(0, -1)
    .map((text) => text.split('\n').map((line) => line.replace(/\t.*$/u, '').replaceAll('\\', '')));
}

describe.each(['bash', 'zsh', 'fish'] as const)('the script for %s', (shell) => {
  it.skipIf(!has(shell))('offers commands, options, values and paths', () => {
    const offered = offeredBy(shell).map((words, index) => {
      const current = LINES[index]?.split(' ').at(-1) ?? '';
      const fitting = words.filter((word) => {
        if (!current.startsWith('-')) return word !== '' && !word.startsWith('-');
        return shell === 'fish' ? word.startsWith(current) : word !== ''; // fish 4 adds words with these letters further on
      });
      return [LINES[index], [...new Set(fitting)].toSorted()];
    });
    expect(offered).toEqual(CASES.map(([line, words]) => [line, words.toSorted()]));
  });
});

it('quotes descriptions for zsh and fish', () => {
  const [zsh, fish] = [completionScript('zsh', COMMANDS), completionScript('fish', COMMANDS)];
  expect(zsh).toContain(String.raw`'validate:print every problem as file\:line\: Kind/name\: path\: message [Reason]'`);
  expect(zsh).toContain(String.raw`'(-o --output)-o[print one JSON document]:value:(json)'`);
  expect(fish).toContain(`complete -c vmcp -n '__vmcp_runs up' -l log-format -x -a 'text json' -d 'lines of the log`);
  expect(fish).toContain(`complete -c vmcp -n '__vmcp_runs up' -F\n`);
});
