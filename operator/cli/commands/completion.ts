import { Argument, type Command, type Option } from 'commander';
import { defineCommand } from './command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completionCommand = defineCommand(
  {
    name: 'completion',
    does: 'print a script that completes commands and options in your shell',
    example: 'vmcp completion bash > ~/.local/share/bash-completion/completions/vmcp',
  },
  (command) =>
    command
      .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
      .action((shell: (typeof SHELLS)[number], _flags: object, self: Command) => {
        process.stdout.write(completionScript(shell, self.parent?.commands ?? []));
      }),
);

/** An option, as completion offers it. */
interface CompletedOption {
  /** Such as `-o` and `--output`. */
  readonly flags: readonly string[];
  readonly does: string;
  readonly value: Value;
}

/** Value of an option: no value, a word of a list, a path, or free text. */
type Value = 'none' | 'path' | 'text' | { readonly choices: readonly string[] };

/** A command, as completion offers it. */
interface CompletedCommand {
  readonly name: string;
  readonly does: string;
  readonly options: readonly CompletedOption[];
  /** Values of its arguments. */
  readonly argument: Value;
}

const HELP: CompletedOption = { flags: ['-h', '--help'], does: 'display help', value: 'none' };

/** Options in place of a command. */
const PROGRAM_OPTIONS: readonly CompletedOption[] = [
  HELP,
  { flags: ['-V', '--version'], does: 'output the version number', value: 'none' },
];

/** Returns the facts of the commands that scripts for shells contain. */
const completedCommands = (commands: readonly Command[]): CompletedCommand[] =>
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

/** Renders a script that bash 3.2 and later understand. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const words = [...commands.map(({ name }) => name), ...PROGRAM_OPTIONS.flatMap(({ flags }) => flags)].join(' ');
  return `# Completion of vmcp for bash. Load it with: source <(vmcp completion bash)
_vmcp() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} IFS=$'\\n'
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _vmcp_words '${words}'
    return
  fi
  case "\${COMP_WORDS[1]} $prev" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${commands.map(bashCase).join('\n')}
  esac
}
_vmcp_words() {
  COMPREPLY=($(IFS=' '; compgen -W "$1" -- "$cur"))
}
_vmcp_paths() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _vmcp vmcp
`;
}

/** Returns a case for each option with a value. */
const valueCases = ({ name, options }: CompletedCommand): string[] =>
  options
    .filter(({ value }) => value !== 'none')
    .map(({ flags, value }) => {
      const patterns = flags.map((flag) => `'${name} ${flag}'`).join(' | ');
      return `    ${patterns}) ${offer(value)}; return ;;`;
    });

function bashCase({ name, options, argument }: CompletedCommand): string {
  const words = options.flatMap(({ flags }) => flags).join(' ');
  return `    ${name}) case "$cur" in -*) _vmcp_words '${words}' ;; *) ${offer(argument)} ;; esac ;;`;
}

function offer(value: Value): string {
  if (value === 'path') return '_vmcp_paths';
  return typeof value === 'string' ? ':' : `_vmcp_words '${value.choices.join(' ')}'`;
}

/** Renders a script for zsh, to load or to copy as `_vmcp` into a folder of $fpath. Loads the completion system if needed. */
function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef vmcp
# Completion of vmcp for zsh. Load it with: source <(vmcp completion zsh)
_vmcp() {
  local -a commands
  commands=(
${commands.map(({ name, does }) => `    ${quoteForZsh(`${name}:${does.replaceAll(':', '\\:')}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    if [[ $words[2] == -* ]]; then
      _arguments ${PROGRAM_OPTIONS.flatMap(optionSpecs).join(' ')}
    else
      _describe command commands
    fi
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${commands.map(zshCase).join('\n')}
  esac
}
if [[ $funcstack[1] == _vmcp ]]; then
  _vmcp "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _vmcp vmcp
fi
`;
}

function zshCase({ name, options, argument }: CompletedCommand): string {
  const rest = argument === 'none' ? [] : [quoteForZsh(`*:argument:${action(argument)}`)];
  return `    ${name}) _arguments ${[...options.flatMap(optionSpecs), ...rest].join(' ')} ;;`;
}

const optionSpecs = ({ flags, does, value }: CompletedOption): string[] =>
  flags.map((flag) => {
    const text = does.replaceAll(/[[\]:\\]/gu, String.raw`\$&`);
    return quoteForZsh(`(${flags.join(' ')})${flag}[${text}]${value === 'none' ? '' : `:value:${action(value)}`}`);
  });

function action(value: Value): string {
  if (value === 'path') return '_files';
  return typeof value === 'string' ? '' : `(${value.choices.join(' ')})`;
}

const quoteForZsh = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Renders a script for fish. */
const fishScript = (commands: readonly CompletedCommand[]): string =>
  [
    '# Completion of vmcp for fish. Load it with: vmcp completion fish | source',
    'function __vmcp_runs',
    '  set -l words (commandline -opc)',
    '  test (count $words) -gt 1; and test $words[2] = $argv[1]',
    'end',
    'complete -c vmcp -f',
    ...PROGRAM_OPTIONS.map((option) => optionLine('complete -c vmcp -n __fish_use_subcommand', option)),
    ...commands.map(
      ({ name, does }) => `complete -c vmcp -n __fish_use_subcommand -a ${name} -d ${quoteForFish(does)}`,
    ),
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
  [start, ...flags.map(flagOf), ...valueWords(value), '-d', quoteForFish(does)].join(' ');

const flagOf = (flag: string): string => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`);

/** Returns the words for the value of an option: -r requires one, -F offers files, -x excludes them. */
function valueWords(value: Value): string[] {
  if (value === 'none') return [];
  if (value === 'path') return ['-r', '-F'];
  return value === 'text' ? ['-x'] : ['-x', '-a', quoteForFish(value.choices.join(' '))];
}

function argumentWords(value: Value): string[] {
  if (value === 'path') return ['-F'];
  return typeof value === 'string' ? [] : [`-a ${quoteForFish(value.choices.join(' '))}`];
}

const quoteForFish = (text: string): string => `'${text.replaceAll(/['\\]/gu, String.raw`\$&`)}'`;

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** Renders the script of a shell for these commands. */
export const completionScript = (shell: keyof typeof SCRIPTS, commands: readonly Command[]): string =>
  SCRIPTS[shell](completedCommands(commands));
