import { argumentWarnings } from '../secret-text.ts';
import type { HostVariable, ProcessSpec, Reading, Setting } from '../server-spec.ts';
import { variableOf } from '../setting.ts';

/** Command line of a client's file, without the command itself. */
export interface Invocation {
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
}

/** Turns an invocation of one command into a server. */
export type ReadCommand = (invocation: Invocation) => Reading;

export const variablesOf = ({ env }: Invocation): (Setting | HostVariable)[] =>
  [...env].map(([name, text]) => variableOf(name, text));

/**
 * Returns a stdio server. Every value of a variable belongs in a Secret: a client's file does not show which of them are
 * keys. `notes` are warnings about the command.
 */
export const stdioServer = (
  image: string,
  args: readonly string[],
  variables: readonly (Setting | HostVariable)[],
  notes: readonly string[] = [],
): { readonly server: ProcessSpec; readonly warnings: readonly string[] } => ({
  server: {
    runs: 'here',
    image,
    transport: 'stdio',
    args,
    env: variables.filter((variable) => 'fromEnv' in variable),
    secrets: variables.filter((variable): variable is Setting => !('fromEnv' in variable)),
  },
  warnings: [...notes, ...argumentWarnings(args)],
});
