import type { Programs } from '../doctor/check.ts';
import { programsOf } from '../doctor/programs.ts';
import type { Io } from '../validate/problems-output.ts';

/** The process, as far as commands that edit a folder need it. */
export interface EditHost extends Io {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The process and the machine, as far as commands that write new servers need them. */
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
