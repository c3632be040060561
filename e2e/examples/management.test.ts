import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGitServer } from '../../gateway/management/skills/testdata/git-server.ts';
import { skillFiles } from '../../gateway/management/skills/testdata/skill-files.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import { runCommand, root, runVmcp, temporaryFolder } from '../harness/vmcp.ts';
import { testScope } from '../harness/scope.ts';

const SEPARATOR = '--- next command ---';
const README = join(root, 'examples/management/README.md');

interface Step {
  command: string;
  /** `...` stands for any text. */
  output: string;
}

/** Reads the commands (`$ `, continued by indented lines) and their output. */
function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  for (const [, block = ''] of markdown.matchAll(/^```console\n(.*?)^```$/gmsu)) {
    for (const line of block.trimEnd().split('\n')) {
      const last = steps.at(-1);
      if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: '' });
      else if (line.startsWith('    ') && last?.output === '') last.command += `\n${line}`;
      else if (last) last.output += `${line}\n`;
    }
  }
  return steps;
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`);
const patternOf = (output: string): RegExp =>
  new RegExp(`^${output.trimEnd().split('...').map(escaped).join('.*')}$`, 'su');

it('management: the transcripts of curl are true', async () => {
  const scope = testScope();
  const git = await startGitServer(scope);
  const files = Object.entries(skillFiles('pdf'));
  git.commit('anthropics/skills', Object.fromEntries(files.map(([path, text]) => [`skills/pdf/${path}`, text])));
  const state = await temporaryFolder(scope);
  const port = String(await freePort());
  const replacements = [
    ['127.0.0.1:8080', `127.0.0.1:${port}`],
    ['/tmp/vmcp-management', state],
    ['github.com', git.host],
  ] as const;
  const here = (text: string): string =>
    replacements.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);

  const env = { VMCP_SECRETS_PASSWORD: 'change-me', VMCP_SKILLS_ALLOW_PRIVATE_IP: '1' };
  const serve = await runVmcp(scope, ['serve', '--port', port, '--state', state], { env });
  await eventually('vmcp serve listens', () => serve.stdout().includes('Stop with Ctrl-C'));

  const steps = stepsOf(readFileSync(README, 'utf8'));
  const script = steps.map(({ command }) => `${here(command)}\necho '${SEPARATOR}'`).join('\n');
  const shell = await runCommand(scope, ['bash', '-c', script], { cwd: root });
  await shell.exited;
  const outputs = shell.stdout().split(`${SEPARATOR}\n`);
  for (const [index, { command, output }] of steps.entries()) {
    expect(outputs[index]?.trimEnd(), command).toMatch(patternOf(here(output)));
  }
  expect([shell.stderr(), outputs.length]).toEqual(['', steps.length + 1]);
  expect(steps.length).toBeGreaterThan(20);
});
