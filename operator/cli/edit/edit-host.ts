import type { Programs } from '../doctor/check.ts';
import { programsOf } from '../doctor/programs.ts';
import type { Io } from '../validate/problems-output.ts';

/** Streams and environment of the process, for commands that edit a folder. */
export interface EditHost extends Io {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** `EditHost` with the programs of the machine, for commands that write new servers. */
export interface ServerHost extends EditHost {
  readonly programs: Programs;
}

/** Returns this process and this machine. */
export const thisHost = (): ServerHost => ({
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  programs: programsOf(process.env),
});
