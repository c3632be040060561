import { PROGRAM_OPTIONS, type CompletedCommand, type Value } from './completed-command.ts';

/** Renders a script that bash 3.2 and later understand. */
export function bashScript(commands: readonly CompletedCommand[]): string {
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
${commands.map(commandCase).join('\n')}
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

function commandCase({ name, options, argument }: CompletedCommand): string {
  const words = options.flatMap(({ flags }) => flags).join(' ');
  return `    ${name}) case "$cur" in -*) _vmcp_words '${words}' ;; *) ${offer(argument)} ;; esac ;;`;
}

function offer(value: Value): string {
  if (value === 'path') return '_vmcp_paths';
  return typeof value === 'string' ? ':' : `_vmcp_words '${value.choices.join(' ')}'`;
}
