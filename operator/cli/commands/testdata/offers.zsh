# Prints what zsh offers at the end of each argument, which is a command line: one word a line, then a line with "--".
# Runs in a folder with `.vmcp.zsh`. The completion of zsh works in an interactive shell only, so this one has a pty.
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; source ./.vmcp.zsh; unsetopt automenu
compadd() { local -a hits; builtin compadd -O hits "$@"; print -rl -- $hits >> offers; builtin compadd "$@" }
offer() { zle list-choices; zle kill-whole-line; : > done }
zle -N offer; bindkey "^I" offer; : > done'
wait_for_done() {
  for i in {1..600}; do [[ -e done ]] && break; sleep 0.05; done
  rm -f done
}
wait_for_done
for line; do
  : > offers
  zpty -n -w shell "$line"$'\t'
  wait_for_done
  cat offers
  print -- --
done
zpty -d shell
