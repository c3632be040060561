import { freePort } from './free-port.ts';
import { eventually } from './poll.ts';
import type { Scope } from './scope.ts';
import { runVmcp, type RunOptions } from './vmcp.ts';

/** Starts `vmcp serve` on a free port, until the scope ends. Waits until it listens or has ended. */
export async function startServe(scope: Scope, state: string, args: readonly string[] = [], options: RunOptions = {}) {
  const port = await freePort();
  const run = await runVmcp(scope, ['serve', '--port', String(port), '--state', state, ...args], options);
  await eventually('vmcp serve listens', () => run.stdout().includes('Stop with Ctrl-C') || !run.running());
  const url = `http://127.0.0.1:${String(port)}`;
  const api = `${url}/api/v1beta`;
  return { ...run, port, url, api, send: sender(api) };
}

export interface Reply {
  readonly status: number;
  readonly text: string;
  /** Parsed body; undefined when it is not JSON. */
  readonly json: unknown;
}

/** Returns a function that sends requests to paths below `api`. A body that is no string is sent as JSON. */
export const sender =
  (api: string, headers: Readonly<Record<string, string>> = {}) =>
  async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await fetch(`${api}${path}`, { method, headers, ...(text !== undefined && { body: text }) });
    const answered = await reply.text();
    return { status: reply.status, text: answered, json: parsed(answered) };
  };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
