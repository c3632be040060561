import type { CompletedCommand, CompletedOption, Value } from './completed-command.ts';

/** Renders a script for zsh with its completion system loaded (`compinit`). */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef vmcp
# Completion of vmcp for zsh. Load it with: source <(vmcp completion zsh)
_vmcp() {
  local -a commands
  commands=(
${commands.map(({ name, does }) => `    ${quote(`${name}:${does.replaceAll(':', '\\:')}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${commands.map(commandCase).join('\n')}
  esac
}
compdef _vmcp vmcp
`;
}

function commandCase({ name, options, argument }: CompletedCommand): string {
  const rest = argument === 'none' ? [] : [quote(`*:argument:${action(argument)}`)];
  return `    ${name}) _arguments ${[...options.flatMap(optionSpecs), ...rest].join(' ')} ;;`;
}

const optionSpecs = ({ flags, does, value }: CompletedOption): string[] =>
  flags.map((flag) => {
    const text = does.replaceAll(/[[\]:\\]/gu, String.raw`\$&`);
    return quote(`(${flags.join(' ')})${flag}[${text}]${value === 'none' ? '' : `:value:${action(value)}`}`);
  });

function action(value: Value): string {
  if (value === 'path') return '_files';
  return typeof value === 'string' ? '' : `(${value.choices.join(' ')})`;
}

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
