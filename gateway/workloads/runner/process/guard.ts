import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Environment } from '../environment.ts';

/**
 * Watcher that outlives this process by seconds: a POSIX shell that receives each process group as it starts and ends.
 * Its stdin closes when this process ends, also by SIGKILL; it then sends SIGTERM to the rest, a second later SIGKILL.
 * An entry is `pid` or `pid,engine,container`; the container is removed too,
 * in two rounds, because podman keeps the relay of a network while its server exists.
 */
export interface Guard {
  add(entry: string): void;
  remove(entry: string): void;
  /** Stops the watcher. */
  close(): void;
}

export const guardEntry = (pid: number, container?: { engine: string; name: string }): string =>
  container === undefined ? String(pid) : `${pid},${container.engine},${container.name}`;

const WATCH = `
trap '' HUP INT TERM PIPE
set --
while read -r op entry; do
  case $op in
    +) set -- "$@" "$entry" ;;
    -) n=$#
       while [ "$n" -gt 0 ]; do
         e=$1; shift; n=$((n - 1))
         [ "$e" = "$entry" ] || set -- "$@" "$e"
       done ;;
  esac
done
[ $# -gt 0 ] || exit 0
for e in "$@"; do kill -s TERM -- "-\${e%%,*}"; done
sleep 1
for e in "$@"; do kill -s KILL -- "-\${e%%,*}"; done
for round in server relay; do
  for e in "$@"; do
    case $e in *,*,*) rest=\${e#*,}; "\${rest%%,*}" rm -f "\${rest#*,}" ;; esac
  done
done
`;

/** Starts the watcher. If it is killed too, the reaper of the next start cleans up. */
export function startGuard(env: Environment, onFailure: (error: Error) => void): Guard {
  const shell = spawn('/bin/sh', ['-c', WATCH], { detached: true, cwd: '/', stdio: ['pipe', 'ignore', 'ignore'], env });
  let usable = true;
  const fail = (error: Error) => {
    if (usable) onFailure(error);
    usable = false;
  };
  shell.once('error', fail);
  shell.stdin.on('error', fail);
  shell.unref();
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  const tell = (line: string) => {
    if (usable) shell.stdin.write(line);
  };
  return {
    add: (entry) => tell(`+ ${entry}\n`),
    remove: (entry) => tell(`- ${entry}\n`),
    close() {
      usable = false;
      shell.stdin.end();
    },
  };
}
