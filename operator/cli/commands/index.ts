import { Command } from 'commander';
import { addCommand, importCommand, initCommand, removeCommand } from './folders.ts';
import { callCommand, connectCommand, statusCommand, toolsCommand } from './sessions.ts';
import { completionCommand } from './completion.ts';
import { doctorCommand, explainCommand, renderCommand, validateCommand } from './checking.ts';
import { gatewayCommand, operatorCommand, serveCommand, upCommand } from './serving.ts';
import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { VERSION } from '../version.ts';
import { defineCommand, outputOption, exampleText } from './command.ts';

const versionCommand = defineCommand(
  {
    name: 'version',
    does: 'print the version of vmcp, of Node.js and of the platform',
    example: 'vmcp version --output json',
  },
  (command) =>
    command.addOption(outputOption()).action((flags: { output?: 'json' }) => {
      const facts = { version: VERSION, node: process.versions.node, platform: `${process.platform}/${process.arch}` };
      const text = `vmcp ${facts.version} (Node.js ${facts.node}, ${facts.platform})`;
      process.stdout.write(`${flags.output === 'json' ? jsonText(facts) : text}\n`);
    }),
);

/** Commands in the order of the help. A new command is defined beside and listed here. */
export const COMMANDS: readonly Command[] = [
  upCommand,
  initCommand,
  importCommand,
  addCommand,
  removeCommand,
  statusCommand,
  toolsCommand,
  callCommand,
  doctorCommand,
  validateCommand,
  renderCommand,
  explainCommand,
  connectCommand,
  serveCommand,
  gatewayCommand,
  operatorCommand,
  completionCommand,
  versionCommand,
];

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
