import { Command } from 'commander';
import { exampleText } from './commands/command.ts';
import { COMMANDS } from './commands/index.ts';
import { VERSION } from './version.ts';

/** Creates the command line with all commands. Throws `CommanderError` instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('vmcp')
    .description('One endpoint over many MCP servers.')
    .version(VERSION)
    .addHelpText('after', exampleText('vmcp up examples/quickstart'))
    .showHelpAfterError('Run "vmcp --help" for the commands and options.')
    .exitOverride();
  for (const command of COMMANDS) {
    const help = `Run "vmcp ${command.name()} --help" for its arguments and an example.`;
    program.addCommand(command.copyInheritedSettings(program).showHelpAfterError(help));
  }
  return program;
}
