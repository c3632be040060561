import type { EnvVar, Header, ServerEntry } from '../schema/entries.ts';
import type { PackageArgument, Package } from '../schema/server-json.ts';
import { filled } from '../../../workloads/definition/entry/entry-variables.ts';
import { asVariable, resolved, argumentWords } from './inputs.ts';
import { imageOf } from './package-image.ts';
import { readOptions, RUNTIMES, type RuntimeSettings } from './runtime-options.ts';

/** Members of an entry that come from its package. */
type PackageRun = Pick<
  ServerEntry,
  'image' | 'transport' | 'args' | 'env_vars' | 'package' | 'permissions' | 'target_port'
> & { readonly identifier: string; readonly asked: readonly Header[] };

type Refused = { readonly reason: string };
type Words = readonly string[];

/**
 * Returns the members of an entry for the package to run: the only container image, else the first package of npm or PyPI that vmcp can
 * run as its publisher describes it. Several images are ambiguous.
 */
export function runOf(packages: readonly Package[]): PackageRun | Refused {
  const images = packages.filter(({ registryType }) => registryType === 'oci');
  if (images.length > 1)
    return { reason: `it has ${String(images.length)} container images, and vmcp cannot choose one` };
  const runs = [...images, ...packages.filter(({ registryType }) => registryType !== 'oci')].map(packageRun);
  return runs.find((run) => !('reason' in run)) ?? runs[0] ?? { reason: 'it has neither a package nor a remote' };
}

function packageRun(found: Package): PackageRun | Refused {
  const placed = imageOf(found);
  if ('reason' in placed) return placed;
  const fault = transportFault(found.transport);
  if (fault !== undefined) return { reason: fault };
  const { runtimeArguments = [], packageArguments = [], environmentVariables = [], transport } = found;
  const isContainer = found.registryType === 'oci';
  const ofEngine = isContainer ? runtimeArguments.filter((argument) => !isVariable(argument)) : runtimeArguments;
  const before = argumentWords(ofEngine);
  const runtime = optionsOf(found, placed.image, before.words);
  if ('reason' in runtime) return runtime;
  const after = argumentWords(packageArguments);
  const started = withCommand(found, placed.image, runtime, after.words);
  if ('reason' in started) return started;
  const variables = [
    ...environmentVariables.map(asVariable),
    ...(isContainer ? runtimeArguments.filter(isVariable).map(engineVariable) : []),
    ...(runtime.env_vars ?? []),
  ];
  const options = { ...started.options, ...installEnv(placed.installEnv, started.options?.install_env) };
  const port = portOf(transport?.url, found, variables) ?? runtime.target_port;
  return {
    identifier: found.identifier,
    image: started.image,
    transport: transport?.type ?? 'stdio',
    args: started.args,
    env_vars: variables,
    ...(Object.keys(options).length > 0 && { package: options }),
    ...(runtime.permissions && { permissions: runtime.permissions }),
    ...(port !== undefined && { target_port: port }),
    asked: [...before.asked, ...after.asked],
  };
}

/** Paths at which vmcp reaches a server that it starts. A URL without a path leaves the path open. */
const PATHS = ['', '/', '/mcp', '/mcp/', '/sse', '/sse/'];

/** Returns the reason why the transport of a package cannot be carried over. */
function transportFault(
  { url = '', headers = [] }: NonNullable<Package['transport']> = { type: 'stdio' },
): string | undefined {
  const path = /^[a-z]+:\/\/[^/?#]*([^?#]*)/u.exec(url)?.[1] ?? '';
  if (!PATHS.includes(path)) return `its path ${path} cannot be carried over: vmcp reaches a package at /mcp or /sse`;
  const needed = headers.find(({ isRequired, value }) => isRequired === true || value !== undefined);
  return needed && `the header ${needed.name} of its transport cannot be carried over`;
}

/** Options of the publisher override the base URL. */
const installEnv = (one: Record<string, string> | undefined, two: Record<string, string> | undefined) =>
  one || two ? { install_env: { ...one, ...two } } : {};

function optionsOf(found: Package, image: string, words: Words): RuntimeSettings | Refused {
  if (words.length === 0) return {};
  const runtime = RUNTIMES[found.registryType as keyof typeof RUNTIMES];
  const { runtimeHint: hint } = found;
  if (hint !== undefined && !(runtime.hints as readonly string[]).includes(hint))
    return { reason: `the runtime arguments of ${hint} cannot be carried over` };
  return readOptions(words, { options: runtime.options, own: [found.identifier, image] });
}

interface Started {
  readonly image: string;
  readonly args: string[];
  readonly options?: NonNullable<PackageRun['package']>;
}

/**
 * Applies `--from` of uvx and `--package` of npx. If they name the package itself, the first argument is the command to run. If they name
 * another requirement, the name of the package is the command.
 */
function withCommand(found: Package, image: string, runtime: RuntimeSettings, args: Words): Started | Refused {
  const { from, package: options } = runtime;
  if (from === undefined) return { image, args: [...args], ...(options && { options }) };
  if (from === found.identifier) {
    const [command, ...rest] = args;
    if (command === undefined) return { reason: `the package ${from} has no command to run` };
    return { image, args: rest, options: { ...options, command } };
  }
  const scheme = image.slice(0, image.indexOf('://') + 3);
  const version = found.version ?? '';
  const hasVersion = scheme === 'uvx://' ? /[=<>~!@]/u.test(from) : from.includes('@', 1);
  const isSame = !hasVersion && baseOf(from) === found.identifier && version !== '';
  const pinned = isSame ? `${from}${scheme === 'uvx://' ? '==' : '@'}${version}` : from;
  return {
    image: scheme + pinned,
    args: [...args],
    options: { ...options, command: found.identifier.replace(/^@[^/]*\//u, '') },
  };
}

/** Returns a requirement without its extras. */
const baseOf = (requirement: string): string => requirement.split('[', 1)[0] ?? '';

/** Returns true for `-e NAME=value` of a container engine. */
const isVariable = ({ name, value }: PackageArgument): boolean =>
  (name === '-e' || name === '--env') && value !== undefined;

function engineVariable(argument: PackageArgument): EnvVar {
  const [, name = '', value] = /^([^=]*)(?:=(.*))?$/su.exec(argument.value ?? '') ?? [];
  const [variable] = Object.values(argument.variables ?? {});
  const { value: _whole, name: _option, type: _type, ...described } = { ...variable, ...argument };
  return asVariable({ ...described, name, ...(value !== undefined && { value }) });
}

/** Reads the port of a URL. Names in braces are arguments and environment variables of the package. */
function portOf(
  url: string | undefined,
  { packageArguments = [] }: Package,
  variables: readonly EnvVar[],
): number | undefined {
  const values = new Map(variables.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]])));
  for (const argument of packageArguments) {
    const { text } = resolved(argument);
    for (const name of [argument.name, argument.name?.replace(/^-+/u, ''), argument.valueHint])
      if (name !== undefined && text !== undefined) values.set(name, text);
  }
  const port = /^[a-z]+:\/\/[^/:]+:(\d{1,5})(?:\/|$)/u.exec(filled(url ?? '', (name) => values.get(name)))?.[1];
  return port === undefined ? undefined : Number(port);
}
