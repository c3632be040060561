import { argumentWarnings } from '../secret-text.ts';
import type { HostVariable, PackageChoices, ProcessSpec, Reading, Setting } from '../server-spec.ts';
import { variableOf } from '../setting.ts';

/** Command line of a client's file. */
export interface Invocation {
  /** Program as it is written: a name or a path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** Working folder, as it is written. */
  readonly cwd?: unknown;
}

/** Advice for an invocation that has no equivalent: the program itself can run it. */
export const asItIs = (program: string): string => `: to run it as it is, set image to command://${program}`;

/** Name of a command of a package. */
export const COMMAND_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/u;

/** Returns the choices that ask for something. */
export function chosen({ command, with: others = [], python }: PackageChoices): Pick<ProcessSpec, 'package'> {
  const choices = {
    ...(command !== undefined && { command }),
    ...(others.length > 0 && { with: others }),
    ...(python !== undefined && { python }),
  };
  return Object.keys(choices).length > 0 ? { package: choices } : {};
}

/** Turns an invocation of one command into a server. */
export type ReadCommand = (invocation: Invocation) => Reading;

export const variablesOf = ({ env }: Invocation): (Setting | HostVariable)[] =>
  [...env].map(([name, text]) => variableOf(name, text));

/** Returns a stdio server. Every value of a variable belongs in a Secret: a client's file does not show which of them are keys. */
export const stdioServer = (
  image: string,
  args: readonly string[],
  variables: readonly (Setting | HostVariable)[],
  more: Pick<ProcessSpec, 'package' | 'workingDir'> = {},
): { readonly server: ProcessSpec; readonly warnings: readonly string[] } => ({
  server: {
    runs: 'here',
    image,
    transport: 'stdio',
    args,
    env: variables.filter((variable) => 'fromEnv' in variable),
    secrets: variables.filter((variable): variable is Setting => !('fromEnv' in variable)),
    ...more,
  },
  warnings: argumentWarnings(args),
});
