#!/usr/bin/env bash
# Installs the programs that tests run and npm does not provide, with apt-get, as root or with a sudo that asks for no password.
# Names the programs that are still missing, the tests that are skipped without them, and the command that installs them.
#   programs.sh            the programs of `make test`
#   programs.sh cluster    those of `make e2e` and `make scripts` too
# INSTALL=no installs nothing.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1

# Program, Debian package, tests that need it.
programs='
chromium chromium pages in a browser
ensurepip python3-venv Python clients and servers
fish fish completion in fish
haproxy haproxy several replicas behind a load balancer
javac default-jdk-headless the API client in Java
mvn maven the API client in Java
openssl openssl the operator and the charts
podman podman containers
promtool prometheus alert rules
redis-server redis-server the key-value store
wrk wrk the benchmark
zsh zsh completion in zsh
'
[ "${1:-}" = cluster ] && programs+='
ip iproute2 a whole node
nft nftables a whole node
ps procps a whole node
runc runc a whole node
shellcheck shellcheck shell scripts
unshare util-linux a whole node
'

# Succeeds if the machine has a program; ensurepip is a module of Python.
has() {
  if [ "$1" = ensurepip ]; then python3 -c 'import ensurepip, venv' 2>/dev/null; else command -v "$1" >/dev/null 2>&1; fi
}

missing() {
  local program rest
  while read -r program rest; do
    [ -z "$program" ] || has "$program" || printf '%s %s\n' "$program" "$rest"
  done <<<"$programs"
}

packages() { missing | awk '!seen[$2]++ { printf "%s%s", separator, $2; separator = " " }'; }

# Prints the prefix of commands that may install packages. Fails if there is none.
root() {
  command -v apt-get >/dev/null 2>&1 && [ "${INSTALL:-yes}" != no ] || return 1
  [ "$(id -u)" -eq 0 ] || { sudo -n true 2>/dev/null && echo 'sudo -n'; }
}

[ -n "$(missing)" ] || exit 0
if prefix=$(root); then
  mkdir -p .cache
  echo "installing programs for the tests with apt-get (INSTALL=no skips this): $(packages)"
  # shellcheck disable=SC2046,SC2086 # words on purpose
  { $prefix apt-get update -qq && $prefix env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(packages); } \
    >.cache/programs.log 2>&1 </dev/null || tail -n 5 .cache/programs.log >&2
fi
[ -n "$(missing)" ] || exit 0
missing | while read -r program package area; do
  echo "not applicable: $area: needs $program (Debian: $package)"
done
! command -v apt-get >/dev/null 2>&1 || echo "install them all with: sudo apt-get install $(packages)"
