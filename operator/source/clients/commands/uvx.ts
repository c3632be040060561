import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import type { Reading } from '../server-spec.ts';
import { readOptions, valuesOf } from './command-options.ts';
import { variablesOf, stdioServer, type Invocation, type ReadCommand } from './invocation.ts';

const OPTIONS = {
  flags: ['-q', '--quiet', '--isolated', '-n', '--no-cache', '--refresh', '--no-progress'],
  valued: ['--from', '-p', '--python'],
};

/** `uvx PACKAGE[==VERSION] [ARGS]`, `uvx PACKAGE@VERSION` and `uvx --from PACKAGE COMMAND [ARGS]`. */
export const uvx: ReadCommand = (invocation) => {
  const options = readOptions(invocation.args, OPTIONS);
  if (options.unknown !== undefined) return { leftOut: `vmcp has no equivalent of uvx ${options.unknown}` };
  const [from] = valuesOf(options, '--from');
  const [first, ...args] = options.rest;
  const spec = from ?? first;
  if (spec === undefined || first === undefined) return { leftOut: 'uvx has no package or no command' };
  const image = `uvx://${requirementOf(spec)}`;
  if (imageScheme(image) !== 'uvx') return { leftOut: `${quoted(spec)} is not a package of PyPI with one version` };
  const notes = [
    ...(valuesOf(options, '-p', '--python').length > 0 ? ['vmcp chooses the version of Python itself'] : []),
    ...(from !== undefined && normal(commandOf(first)) !== normal(commandOf(from))
      ? [`vmcp runs the own command of ${commandOf(from)}, which may be another than ${quoted(first)}`]
      : []),
  ];
  return stdioServer(image, args, variablesOf(invocation), notes);
};

/** `uv tool run`, the long form of `uvx`. */
export function uv(invocation: Invocation): Reading {
  const [first, second, ...args] = invocation.args;
  if (first === 'tool' && second === 'run') return uvx({ ...invocation, args });
  return { leftOut: 'vmcp runs packages of PyPI (uvx), not projects in a folder (uv)' };
}

/** Returns `NAME==VERSION` for `NAME@VERSION`, and `NAME` for `NAME@latest`. */
const requirementOf = (spec: string): string => spec.replace(/@latest$/u, '').replace(/@(?=[^@/]*$)/u, '==');

const commandOf = (spec: string): string => /^[^@=[]*/u.exec(spec)?.[0] ?? '';

const normal = (name: string): string => name.toLowerCase().replace(/[-_.]+/gu, '-');
