import { enableCompileCache } from 'node:module';
import { Command, CommanderError } from 'commander';
import { EXIT_USAGE, exampleText } from './commands/command.ts';
import { COMMANDS } from './commands/index.ts';
import { VERSION } from './version.ts';

enableCompileCache();

function createProgram(): Command {
  const program = new Command('vmcp')
    .description('One endpoint over many MCP servers.')
    .version(VERSION)
    .addHelpText('after', exampleText('vmcp up examples/quickstart'))
    .showHelpAfterError('Run "vmcp --help" for the commands and options.')
    .exitOverride();
  for (const command of COMMANDS) program.addCommand(command.copyInheritedSettings(program));
  return program;
}

try {
  await createProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
}
