import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import type { Scope } from '../harness/scope.ts';

/** A script of this folder in a process of its own, with a hostile backend. */
export interface Attacker {
  /** URL of its backend. */
  readonly url: string;
  /** Sends a line to its stdin and resolves to the next line of its stdout. */
  order(line: string): Promise<string>;
}

/**
 * Starts a script, which first prints the port of its backend. A low priority stands for another machine: it takes no processor time
 * from the calls whose latency a test checks. Beside other test files such a script would get none at all.
 */
export async function startAttacker(scope: Scope, script: URL, hasLowPriority = false): Promise<Attacker> {
  const child = spawn(process.execPath, [script.pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  scope.defer(() => void child.kill('SIGKILL'));
  if (hasLowPriority) setPriority(child.pid ?? 0, constants.priority.PRIORITY_LOW);
  const lines = createInterface({ input: child.stdout });
  const next = async (): Promise<string> => String((await once(lines, 'line'))[0]);
  const port = await next();
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    order: (line) => {
      child.stdin.write(`${line}\n`);
      return next();
    },
  };
}
