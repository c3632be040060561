import type { Command, Option } from 'commander';

/** An option, as completion offers it. */
export interface CompletedOption {
  /** Such as `-o` and `--output`. */
  readonly flags: readonly string[];
  readonly does: string;
  readonly value: Value;
}

/** Value of an option: none, one of several, a path, or free text. */
export type Value = 'none' | 'path' | 'text' | { readonly choices: readonly string[] };

/** A command, as completion offers it. */
export interface CompletedCommand {
  readonly name: string;
  readonly does: string;
  readonly options: readonly CompletedOption[];
  /** Values of its arguments. */
  readonly argument: Value;
}

const HELP: CompletedOption = { flags: ['-h', '--help'], does: 'display help', value: 'none' };

/** Options in place of a command. */
export const PROGRAM_OPTIONS: readonly CompletedOption[] = [
  HELP,
  { flags: ['-V', '--version'], does: 'output the version number', value: 'none' },
];

/** Returns the facts of the commands that scripts for shells contain. */
export const completedCommands = (commands: readonly Command[]): CompletedCommand[] =>
  commands.map((command) => ({
    name: command.name(),
    does: command.description(),
    options: [...command.options.filter(({ hidden }) => !hidden).map(completedOption), HELP],
    argument: argumentOf(command),
  }));

const completedOption = (option: Option): CompletedOption => ({
  flags: [option.short, option.long].filter((flag) => flag !== undefined),
  does: option.description,
  value: valueOf(option),
});

function valueOf({ argChoices, flags }: Option): Value {
  if (argChoices) return { choices: argChoices };
  if (/<(?:dir|file)>/u.test(flags)) return 'path';
  return /[<[]/u.test(flags) ? 'text' : 'none';
}

function argumentOf({ registeredArguments }: Command): Value {
  const [first] = registeredArguments;
  if (!first) return 'none';
  if (first.argChoices) return { choices: first.argChoices };
  return ['paths', 'file', 'dir'].includes(first.name()) ? 'path' : 'text';
}
