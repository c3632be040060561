import { argumentWarnings } from '../secret-text.ts';
import type { Reading, Setting } from '../server-spec.ts';
import { settingOf } from '../setting.ts';

/** Command line of a client's file, without the command itself. */
export interface Invocation {
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
}

/** Turns an invocation of one command into a server. */
export type ReadCommand = (invocation: Invocation) => Reading;

/** Every value of `env` belongs into a Secret: a client's file does not show which of them are keys. */
export const secretsOf = ({ env }: Invocation): Setting[] => [...env].map(([name, text]) => settingOf(name, text));

/** Returns a stdio server. `notes` are warnings about the command. */
export const stdioServer = (
  image: string,
  args: readonly string[],
  secrets: readonly Setting[],
  notes: readonly string[] = [],
): Reading => ({
  server: { runs: 'here', image, transport: 'stdio', args, env: [], secrets },
  warnings: [...notes, ...argumentWarnings(args)],
});
