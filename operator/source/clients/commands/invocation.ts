import { quoted } from '../quoted.ts';
import { argumentWarnings, isSecretName, isShell, looksLikeKey, STAYS_READABLE } from '../secret-text.ts';
import type { HostVariable, PackageChoices, ProcessSpec, Reading, Setting } from '../server-spec.ts';
import { placeholdersIn, withFallbacks } from '../placeholders.ts';
import { settingWarnings, variableOf } from '../setting.ts';

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
