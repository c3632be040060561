import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import { readOptions, valuesOf } from './command-options.ts';
import {
  asItIs,
  chosen,
  COMMAND_NAME,
  installVariables,
  stdioServer,
  variablesOf,
  type ReadCommand,
} from './invocation.ts';
import { mcpRemote } from './mcp-remote.ts';

const OPTIONS = {
  flags: ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-offline', '--prefer-online'],
  valued: ['-p', '--package'],
};

/** Variables that npm reads. */
const READ_BY_NPM = /^(?:npm_config_\w+|(?:https?|all|no)_proxy|NODE_EXTRA_CA_CERTS)$/iu;

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
  const { installEnv, warnings } = installVariables(invocation, READ_BY_NPM);
  const more = chosen({ ...(isOther && { command: first }), with: others, installEnv });
  return stdioServer(`npx://${spec}`, args, variablesOf(invocation), more, warnings);
};

/** Returns the name of `NAME@VERSION`; the `@` of a scope is part of the name. */
const nameOf = (spec: string): string => /^.[^@]*/su.exec(spec)?.[0] ?? '';
