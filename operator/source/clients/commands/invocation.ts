import { quoted } from '../texts.ts';
import { argumentWarnings, isSecretName, isShell, looksLikeKey, STAYS_READABLE } from '../secret-text.ts';
import {
  type HostVariable,
  type PackageChoices,
  type ProcessSpec,
  type Reading,
  type Setting,
  settingWarnings,
  variableOf,
} from '../server-spec.ts';
import { placeholdersIn, withFallbacks } from '../placeholders.ts';

/** Command line of a client's file. */
export interface Invocation {
  /** Program as it is written: a name or a path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** Working folder, as it is written. */
  readonly cwd?: unknown;
}

/** Environment variable names that a Secret's key and `spec.secrets` accept. */
export const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]{0,252}$/u;

/** Returns the reason why a server is left out whose environment has this name. */
export const noVariable = (name: string): string => `${quoted(name)} cannot name an environment variable`;

/** Advice for an invocation that has no equivalent: the program itself can run it. */
export const asItIs = (program: string): string => `: to run it as it is, set image to command://${program}`;

/** Name of a command of a package. */
export const COMMAND_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/u;

/** Returns the choices that ask for something. */
export function chosen(options: PackageChoices): Pick<ProcessSpec, 'package'> {
  const { command, with: others = [], python, installEnv = [] } = options;
  const choices = {
    ...(command !== undefined && { command }),
    ...(others.length > 0 && { with: others }),
    ...(python !== undefined && { python }),
    ...(installEnv.length > 0 && { installEnv }),
  };
  return Object.keys(choices).length > 0 ? { package: choices } : {};
}

/** Turns an invocation of one command into a server. */
export type ReadCommand = (invocation: Invocation) => Reading;

export const variablesOf = ({ env }: Invocation): (Setting | HostVariable)[] =>
  [...env].map(([name, text]) => variableOf(name, text));

/** Variables of an environment that also choose what an installer installs, and what to tell the user about them. */
export interface InstallVariables {
  readonly installEnv: NonNullable<PackageChoices['installEnv']>;
  readonly warnings: readonly string[];
}

/** Returns the variables of a server that its installer reads too. A client starts `npx` and `uvx` with all of them. */
export function installVariables(invocation: Invocation, isRead: RegExp): InstallVariables {
  const read = variablesOf(invocation).filter(({ name }) => isRead.test(name));
  const installEnv = read.flatMap((variable) => ('value' in variable ? [variable] : []));
  const warnings = read.map((variable) => {
    const { name } = variable;
    if (!('value' in variable)) return `the installation gets no ${name}: write its value into package.installEnv`;
    return isSecretName(name) || looksLikeKey(variable.value)
      ? `${name} looks like a secret and ${STAYS_READABLE}, because package.installEnv cannot come from a Secret`
      : '';
  });
  return { installEnv, warnings: warnings.filter((text) => text !== '') };
}

/** Returns a stdio server. Every value of a variable belongs in a Secret: a client's file does not show which of them are keys. */
export function stdioServer(
  image: string,
  written: readonly string[],
  variables: readonly (Setting | HostVariable)[],
  more: Pick<ProcessSpec, 'package' | 'workingDir'> = {},
  warnings: readonly string[] = [],
): { readonly server: ProcessSpec; readonly warnings: readonly string[] } {
  const args = isShell(image) ? written : written.map(withFallbacks);
  const defaults = written.flatMap((arg, index) =>
    arg === args[index]
      ? []
      : `argument ${String(index + 1)} has the default of ${placeholdersIn(arg)
          .flatMap(({ shown, fallback }) => (fallback ? shown : []))
          .join(' and ')}`,
  );
  return {
    server: {
      runs: 'here',
      image,
      transport: 'stdio',
      args,
      env: variables.filter((variable) => 'fromEnv' in variable),
      secrets: variables.filter((variable): variable is Setting => !('fromEnv' in variable)),
      ...more,
    },
    warnings: [...warnings, ...settingWarnings(variables), ...defaults, ...argumentWarnings(args, image)],
  };
}

/** Options of a command that vmcp understands. */
interface OptionRules {
  /** Options without a value. */
  readonly flags: readonly string[];
  /** Options with a value, each with its aliases: `-e` and `--env`. */
  readonly valued: readonly string[];
}

export interface ReadOptions {
  /** Options with a value, in their order. */
  readonly values: readonly (readonly [option: string, value: string])[];
  /** Everything from the first argument that is not an option. */
  readonly rest: readonly string[];
  /** First option that is not in the rules. */
  readonly unknown?: string;
}

/** Reads the options before the first other argument. Skips flags; `--` ends the options. */
export function readOptions(args: readonly string[], rules: OptionRules): ReadOptions {
  const values: [string, string][] = [];
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      at += 1;
      break;
    }
    if (!arg.startsWith('-')) break;
    const { option, inline } = optionIn(arg, rules);
    if (isFlag(option, inline, rules)) continue;
    const value = inline ?? args[at + 1];
    if (!rules.valued.includes(option) || value === undefined) return { values, rest: [], unknown: option };
    values.push([option, value]);
    if (inline === undefined) at += 1;
  }
  return { values, rest: args.slice(at) };
}

interface WrittenOption {
  readonly option: string;
  /** Value in the same argument. */
  readonly inline?: string;
}

/** Splits `--name=value`, `-e=value`, `-evalue` and, after flags in the same argument, `-ievalue`. */
function optionIn(arg: string, { flags, valued }: OptionRules): WrittenOption {
  if (!arg.startsWith('--')) {
    const last = Array.from(arg.slice(1)).findIndex((letter) => !flags.includes(`-${letter}`));
    const option = `-${arg.charAt(last + 1)}`;
    if (last === -1) return { option: `-${arg.charAt(1)}` };
    if (valued.includes(option)) {
      const value = arg.slice(last + 2).replace(/^=/u, '');
      return value === '' ? { option } : { option, inline: value };
    }
  }
  const [, option = arg, inline] = /^(-[^=]*)=(.*)$/su.exec(arg) ?? [];
  return inline === undefined ? { option } : { option, inline };
}

/** Returns true for a flag of the rules that is set: `--rm`, `--rm=true`. */
const isFlag = (option: string, inline: string | undefined, { flags }: OptionRules): boolean =>
  flags.includes(option) && (inline === undefined || inline === 'true');

/** Returns the values of an option with its aliases. */
export const valuesOf = ({ values }: ReadOptions, ...names: readonly string[]): string[] =>
  values.filter(([option]) => names.includes(option)).map(([, value]) => value);
