import { join } from 'node:path';
import { expect, it } from 'vitest';
import { validate } from '../../operator/cli/validate/validate.ts';
import { testScope } from '../harness/scope.ts';
import { root, vmcpResult } from '../harness/vmcp.ts';

const SAMPLES = ['valid', 'local', 'invalid'].map((folder) => join(root, 'crds', 'kinds', 'samples', folder));

/** The build compiles the validators of the kinds ahead: build.ts. */
it('vmcp validate of the build reports every problem of the samples as the sources do', async () => {
  const built = await vmcpResult(testScope(), ['validate', ...SAMPLES], { cwd: root });
  const texts: string[] = [];
  const stdout = { write: (text: string) => texts.push(text) };
  expect(await validate(SAMPLES, { hostEnv: {} }, { stdout, stderr: { write: () => true } })).toBe(2);
  const lines = texts.join('').split('\n');
  expect(lines.length).toBeGreaterThan(150);
  expect(built.stdout.split('\n')).toEqual(lines);
});
