import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import { readOptions, valuesOf } from './command-options.ts';
import { variablesOf, stdioServer, type ReadCommand } from './invocation.ts';
import { mcpRemote } from './mcp-remote.ts';

const OPTIONS = {
  flags: ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-offline', '--prefer-online'],
  valued: ['-p', '--package'],
};

/** `npx [-y] PACKAGE[@VERSION] [ARGS]` and `npx -p PACKAGE COMMAND [ARGS]`. */
export const npx: ReadCommand = (invocation) => {
  const options = readOptions(invocation.args, OPTIONS);
  if (options.unknown !== undefined) return { leftOut: `vmcp has no equivalent of npx ${options.unknown}` };
  const packages = valuesOf(options, '-p', '--package');
  if (packages.length > 1) return { leftOut: 'npx installs several packages, and vmcp runs one' };
  const [named] = packages;
  const [first, ...others] = options.rest;
  const spec = named ?? first;
  if (spec === undefined) return { leftOut: 'npx has no package' };
  if (nameOf(spec) === 'mcp-remote') return mcpRemote({ ...invocation, args: others });
  const image = `npx://${spec}`;
  if (imageScheme(image) !== 'npx') return { leftOut: `${quoted(spec)} is not a package of the npm registry` };
  const isOther = named !== undefined && first !== undefined && first !== nameOf(named).replace(/^@[^/]*\//u, '');
  const note = `vmcp runs the own command of ${nameOf(spec)}, which may be another than ${quoted(first ?? '')}`;
  return stdioServer(image, others, variablesOf(invocation), isOther ? [note] : []);
};

/** Returns the name of `NAME@VERSION`; the `@` of a scope is part of the name. */
const nameOf = (spec: string): string => /^.[^@]*/su.exec(spec)?.[0] ?? '';
