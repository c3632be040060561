import { CommanderError } from 'commander';
import { endWithReader } from './closed-pipe.ts';
import { EXIT_USAGE } from './commands/command.ts';
import { createProgram } from './program.ts';
import { writeVisibly } from './visible-output.ts';

endWithReader();
writeVisibly(process.stdout);
writeVisibly(process.stderr);

try {
  await createProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) {
    const text = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`${text ?? ''}\n`); // Node.js itself would print the message of a server unescaped
    process.exit(1);
  }
  process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
}
