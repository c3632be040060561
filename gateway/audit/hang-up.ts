import { closeSync, openSync } from 'node:fs';

/**
 * Calls `reopen` at each SIGHUP, with which programs that rotate logs ask for new files. When the terminal of the process was
 * closed, the process stops as after SIGTERM instead. Returns a function that restores the default.
 */
export function onHangUp(reopen: () => void): () => void {
  const hadTerminal = process.stdin.isTTY;
  const onSignal = (): void => {
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, 'SIGTERM');
    else reopen();
  };
  process.on('SIGHUP', onSignal);
  return () => {
    process.off('SIGHUP', onSignal);
  };
}

/** Returns false after the terminal that controls this process was closed. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
