import { PROGRAM_OPTIONS, type CompletedCommand, type CompletedOption, type Value } from './completed-command.ts';

/** Renders a script for fish. */
export const fishScript = (commands: readonly CompletedCommand[]): string =>
  [
    '# Completion of vmcp for fish. Load it with: vmcp completion fish | source',
    'function __vmcp_runs',
    '  set -l words (commandline -opc)',
    '  test (count $words) -gt 1; and test $words[2] = $argv[1]',
    'end',
    'complete -c vmcp -f',
    ...PROGRAM_OPTIONS.map((option) => optionLine('complete -c vmcp -n __fish_use_subcommand', option)),
    ...commands.map(({ name, does }) => `complete -c vmcp -n __fish_use_subcommand -a ${name} -d ${quote(does)}`),
    ...commands.flatMap(commandLines),
    '',
  ].join('\n');

function commandLines({ name, options, argument }: CompletedCommand): string[] {
  const start = `complete -c vmcp -n '__vmcp_runs ${name}'`;
  return [
    ...options.map((option) => optionLine(start, option)),
    ...argumentWords(argument).map((words) => `${start} ${words}`),
  ];
}

const optionLine = (start: string, { flags, does, value }: CompletedOption): string =>
  [start, ...flags.map(flagOf), ...valueWords(value), '-d', quote(does)].join(' ');

const flagOf = (flag: string): string => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`);

/** Returns the words for the value of an option: -r requires one, -F offers files, -x excludes them. */
function valueWords(value: Value): string[] {
  if (value === 'none') return [];
  if (value === 'path') return ['-r', '-F'];
  return value === 'text' ? ['-x'] : ['-x', '-a', quote(value.choices.join(' '))];
}

function argumentWords(value: Value): string[] {
  if (value === 'path') return ['-F'];
  return typeof value === 'string' ? [] : [`-a ${quote(value.choices.join(' '))}`];
}

const quote = (text: string): string => `'${text.replaceAll(/['\\]/gu, String.raw`\$&`)}'`;
