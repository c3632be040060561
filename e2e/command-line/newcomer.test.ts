import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyUncommitted, newcomer, untilTable } from '../harness/newcomer/newcomer.ts';
import { testScope } from '../harness/scope.ts';
import { root } from '../harness/vmcp.ts';

/** The goal is 90 s on an idle machine. Here other tests use the same two cores, and go first. */
const LIMIT_MS = 600_000;
const COMMANDS = ['make run', 'bin/vmcp call everything_echo --arg message=hello'] as const;

it('the README shows the commands of the first minute', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8').split('\n');
  expect(COMMANDS.filter((command) => !readme.some((line) => line.startsWith(command)))).toEqual([]);
});

// an unpacked archive of the sources cannot be cloned
it.runIf(existsSync(join(root, '.git')))(
  'a new user clones, starts the quickstart and calls a tool with three commands',
  async () => {
    const began = performance.now();
    const user = await newcomer(testScope());
    expect(await user.run(`git clone --quiet ${root} vmcp`)).toMatchObject({ code: 0 });
    await copyUncommitted(join(user.home, 'vmcp'));
    const running = await user.start(COMMANDS[0], 'vmcp');
    await untilTable(running, LIMIT_MS);
    expect(await user.run(COMMANDS[1], 'vmcp')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^(?:waiting for [^\n]*\n)?Echo: hello\r\n$/u) as unknown,
    });
    const seconds = (performance.now() - began) / 1_000;
    console.log(`from git clone to the answer of a tool: ${seconds.toFixed(1)} s (goal on an idle machine: 90 s)`);
    expect(running.running()).toBe(true);
  },
  LIMIT_MS + 120_000,
);
