import { CommanderError } from 'commander';
import { endWithReader, writeVisibly } from './process.ts';
import { EXIT_USAGE } from './commands/command.ts';
import { createProgram } from './commands/index.ts';

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
