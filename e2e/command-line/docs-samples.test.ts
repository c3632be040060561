import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testScope } from '../harness/scope.ts';
import { root, runCommand } from '../harness/vmcp.ts';

interface Sample {
  readonly page: string;
  readonly command: string;
  readonly output: string;
}

/** Commands with the same output on every machine: they read files of the repository, and connect to nothing. */
const OFFLINE = /^bin\/vmcp (?:explain|validate|render) examples\//u;

/** Reads the samples of a page. A sample is a `console` block with a command and its output. */
function samplesOf(page: string): Sample[] {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^```console\n\$ (.+)\n([^]*?)^```$/gmu);
  return [...blocks].map(([, command = '', output = '']) => ({ page, command, output }));
}

const samples = ['README.md', ...globSync(['docs/**/*.md', 'examples/*/README.md'], { cwd: root })]
  .flatMap(samplesOf)
  .filter(({ command }) => OFFLINE.test(command));

describe('the samples of the docs', () => {
  it('contain a sample of vmcp explain', () => {
    expect(samples.map(({ page }) => page)).toContain('docs/policies/authorization.md');
  });

  it.each(samples)('are what $command prints', async ({ command, output }) => {
    const run = await runCommand(testScope(), ['sh', '-c', command], { cwd: root });
    await run.exited;
    expect(run.stdout()).toBe(output);
  });
});
