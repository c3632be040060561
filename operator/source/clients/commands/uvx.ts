import { imageScheme } from '../../../resolve/backends/server-backend.ts';
import { quoted } from '../texts.ts';
import {
  readOptions,
  valuesOf,
  asItIs,
  chosen,
  COMMAND_NAME,
  installVariables,
  variablesOf,
  stdioServer,
  type ReadCommand,
} from './invocation.ts';

const OPTIONS = {
  flags: ['-q', '--quiet', '--isolated', '-n', '--no-cache', '--refresh', '--no-progress'],
  valued: ['--from', '-p', '--python', '--with'],
};

/** Variables that uv reads, except those that each installation takes from the environment of its server. */
const READ_BY_UV =
  /^(?:UV_(?!PYTHON(?:_PREFERENCE|_DOWNLOADS)?$)[A-Z0-9_]+|SSL_CERT_(?:FILE|DIR)|(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy)$/u;

/** `uvx PACKAGE[==VERSION] [ARGS]`, `uvx PACKAGE@VERSION` and `uvx --from PACKAGE [--with PACKAGE]... COMMAND [ARGS]`. */
export const uvx: ReadCommand = (invocation) => {
  const options = readOptions(invocation.args, OPTIONS);
  if (options.unknown !== undefined)
    return { leftOut: `vmcp has no equivalent of uvx ${options.unknown}${asItIs('uvx')}` };
  const [from] = valuesOf(options, '--from');
  const [first, ...args] = options.rest;
  const spec = from ?? first;
  if (spec === undefined || first === undefined) return { leftOut: 'uvx has no package or no command' };
  const image = `uvx://${requirementOf(spec)}`;
  if (imageScheme(image) !== 'uvx')
    return { leftOut: `${quoted(spec)} is not a package of PyPI with one version${asItIs('uvx')}` };
  const isOther = from !== undefined && normal(commandOf(first)) !== normal(commandOf(from));
  if (isOther && !COMMAND_NAME.test(first)) return { leftOut: `${quoted(first)} is not the name of a command` };
  const others = valuesOf(options, '--with')
    .flatMap((text) => text.split(NEXT_REQUIREMENT))
    .map(requirementOf);
  const foreign = others.find((text) => !REQUIREMENT.test(text));
  if (foreign !== undefined) return { leftOut: `${quoted(foreign)} is not a package of PyPI${asItIs('uvx')}` };
  const python = valuesOf(options, '-p', '--python').at(-1);
  const { installEnv, warnings } = installVariables(invocation, READ_BY_UV);
  const choices = { ...(isOther && { command: first }), with: others, ...(python !== undefined && { python }) };
  return stdioServer(image, args, variablesOf(invocation), chosen({ ...choices, installEnv }), warnings);
};

/** Comma between two requirements; those within extras and versions are followed by something else, or precede a bracket. */
const NEXT_REQUIREMENT = /,\s*(?=[A-Za-z0-9][^\]]*(?:\[|$))/u;
const REQUIREMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._,-]+\])?(?:\s*[<>=!~][A-Za-z0-9.!+_*<>=~, -]*)?$/u;

/** Returns `NAME==VERSION` for `NAME@VERSION`, and `NAME` for `NAME@latest`. */
const requirementOf = (spec: string): string => spec.replace(/@latest$/u, '').replace(/@(?=[^@/]*$)/u, '==');

const commandOf = (spec: string): string => /^[^@=[]*/u.exec(spec)?.[0] ?? '';

const normal = (name: string): string => name.toLowerCase().replace(/[-_.]+/gu, '-');
