import { CommanderError } from 'commander';
import { endWithReader } from './closed-pipe.ts';
import { EXIT_USAGE } from './commands/command.ts';
import { createProgram } from './program.ts';

endWithReader();

try {
  await createProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
}
