import { CommanderError } from 'commander';
import { endWithReader, writeVisibly } from './process.ts';
import { createProgram } from './commands/index.ts';
import { EXIT } from './exit.ts';

endWithReader();
writeVisibly(process.stdout);
writeVisibly(process.stderr);

try {
  await createProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) {
    const text = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`${text ?? ''}\n`); // Node.js itself would print the message of a server unescaped
    process.exit(EXIT.failed);
  }
  process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.invalid;
}
