import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import { readOptions, valuesOf } from './command-options.ts';
import { asItIs, chosen, COMMAND_NAME, variablesOf, stdioServer, type ReadCommand } from './invocation.ts';
import { mcpRemote } from './mcp-remote.ts';

const OPTIONS = {
  flags: ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-offline', '--prefer-online'],
  valued: ['-p', '--package'],
};

/** `npx [-y] PACKAGE[@VERSION] [ARGS]` and `npx -p PACKAGE [-p PACKAGE]... COMMAND [ARGS]`. */
export const npx: ReadCommand = (invocation) => {
  const options = readOptions(invocation.args, OPTIONS);
  if (options.unknown !== undefined)
    return { leftOut: `vmcp has no equivalent of npx ${options.unknown}${asItIs('npx')}` };
  const [named, ...others] = valuesOf(options, '-p', '--package');
  const [first, ...args] = options.rest;
  const spec = named ?? first;
  if (spec === undefined) return { leftOut: 'npx has no package' };
  if (first === undefined) return { leftOut: `npx has no command of ${quoted(spec)}` };
  if (nameOf(spec) === 'mcp-remote') return mcpRemote({ ...invocation, args });
  const foreign = [spec, ...others].find((each) => imageScheme(`npx://${each}`) !== 'npx');
  if (foreign !== undefined)
    return { leftOut: `${quoted(foreign)} is not a package of the npm registry${asItIs('npx')}` };
  const isOther = named !== undefined && first !== nameOf(named).replace(/^@[^/]*\//u, '');
  if (isOther && !COMMAND_NAME.test(first)) return { leftOut: `${quoted(first)} is not the name of a command` };
  const more = chosen({ ...(isOther && { command: first }), with: others });
  return stdioServer(`npx://${spec}`, args, variablesOf(invocation), more);
};

/** Returns the name of `NAME@VERSION`; the `@` of a scope is part of the name. */
const nameOf = (spec: string): string => /^.[^@]*/su.exec(spec)?.[0] ?? '';
