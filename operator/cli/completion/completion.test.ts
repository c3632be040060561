import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../commands/index.ts';
import { completionScript } from './completion-script.ts';

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vmcp-completion-'));
  await writeFile(join(folder, 'my servers.yaml'), '');
  for (const shell of ['bash', 'zsh', 'fish'] as const)
    await writeFile(join(folder, `.vmcp.${shell}`), completionScript(shell, COMMANDS));
});
afterAll(() => rm(folder, { recursive: true }));

/** Returns the words that bash offers at the end of a command line. */
function offered(line: string): string[] {
  const words = line.split(' ');
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const setting = `COMP_WORDS=(${quoted}); COMP_CWORD=${String(words.length - 1)}`;
  const script = `. ./.vmcp.bash; ${setting}; _vmcp; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { cwd: folder, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe.skipIf(!has('bash'))('the script for bash', () => {
  it.each([
    ['vmcp val', ['validate']],
    ['vmcp --v', ['--version']],
    ['vmcp up --po', ['--port']],
    ['vmcp up --log-format ', ['text', 'json']],
    ['vmcp validate -o ', ['json']],
    ['vmcp completion ', ['bash', 'zsh', 'fish']],
    ['vmcp up my', ['my servers.yaml']],
    ['vmcp up --watch my', ['my servers.yaml']],
    ['vmcp gateway --config my', ['my servers.yaml']],
    ['vmcp up --port ', []],
    ['vmcp version ', []],
    ['vmcp unknown ', []],
  ])('offers for "%s"', (line, words) => {
    expect(offered(line)).toEqual(words);
  });

  it('offers every command', () => {
    const names = COMMANDS.map((command) => command.name());
    expect(offered('vmcp ')).toEqual([...names, '--help', '--version']);
  });
});

it.each(['bash', 'zsh', 'fish'])('the script for %s can be parsed', (shell) => {
  if (!has(shell)) return;
  const { status, stderr } = spawnSync(shell, ['-n', join(folder, `.vmcp.${shell}`)], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

it('quotes descriptions for zsh and fish', () => {
  const [zsh, fish] = [completionScript('zsh', COMMANDS), completionScript('fish', COMMANDS)];
  expect(zsh).toContain(String.raw`'validate:print every problem as file\:line\: Kind/name\: path\: message [Reason]'`);
  expect(zsh).toContain(String.raw`'(-o --output)-o[print one JSON document]:value:(json)'`);
  expect(fish).toContain(
    `complete -c vmcp -n '__fish_seen_subcommand_from up' -l log-format -x -a 'text json' -d 'lines of the log`,
  );
  expect(fish).toContain(`complete -c vmcp -n '__fish_seen_subcommand_from up' -F\n`);
});
