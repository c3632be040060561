import { PROGRAM_OPTIONS, type CompletedCommand, type CompletedOption, type Value } from './completed-command.ts';

/** Renders a script for zsh, to load or to copy as `_vmcp` into a folder of $fpath. Loads the completion system if needed. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef vmcp
# Completion of vmcp for zsh. Load it with: source <(vmcp completion zsh)
_vmcp() {
  local -a commands
  commands=(
${commands.map(({ name, does }) => `    ${quote(`${name}:${does.replaceAll(':', '\\:')}`)}`).join('\n')}
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
${commands.map(commandCase).join('\n')}
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
