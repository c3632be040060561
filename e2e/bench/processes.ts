import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from '../harness/free-port.ts';

const STOP_GRACE_MS = 15_000;
const READY_TIMEOUT_MS = 20_000;

/** A process of this benchmark. `stderr()` returns the end of its standard error. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly startedAtMs: number;
  readonly stderr: () => string;
  readonly process: ChildProcess;
}

const running = new Set<Child>();
let ending = false;

/** Starts `node <argv>`; every child gets the same flags and environment. */
export function start(name: string, argv: readonly string[]): Child {
  if (ending) throw new Error(`${name} was not started: the benchmark is ending`);
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, argv, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production', NODE_OPTIONS: '' },
  });
  if (child.pid === undefined) throw new Error(`${name} did not start`);
  let tail = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-4_000);
  });
  // A server that logs must never block on a full pipe.
  child.stdout.resume();
  const started: Child = { name, pid: child.pid, startedAtMs, stderr: () => tail, process: child };
  running.add(started);
  child.once('exit', () => running.delete(started));
  return started;
}

/** Starts a script of e2e/bench and waits for its JSON line, which it prints when it is ready or done. */
export async function startScript(
  script: string,
  argv: readonly string[],
  seconds = 0,
): Promise<{ child: Child; line: unknown }> {
  const child = start(script, [new URL(script, import.meta.url).pathname, ...argv]);
  return { child, line: JSON.parse(await firstLine(child, READY_TIMEOUT_MS + seconds * 1_000)) };
}

/** Starts a script that is a server and waits for its ports. */
export async function startServer(script: string, argv: readonly string[]): Promise<{ child: Child; ports: number[] }> {
  const { child, line } = await startScript(script, argv);
  return { child, ports: (line as { ports: number[] }).ports };
}

async function firstLine(child: Child, timeoutMs: number): Promise<string> {
  if (child.process.stdout === null) throw new Error(`${child.name} has no stdout`);
  const lines = createInterface({ input: child.process.stdout });
  const timeout = AbortSignal.timeout(timeoutMs);
  const line = once(lines, 'line', { signal: timeout }).then((values: unknown[]) => String(values[0]));
  const exit = once(child.process, 'exit', { signal: timeout }).then(() => {
    throw new Error(`${child.name} ended before it was ready: ${child.stderr()}`);
  });
  try {
    return await Promise.race([line, exit]);
  } finally {
    // The timeout signal settles the other promise; nothing awaits it.
    line.catch(() => undefined);
    exit.catch(() => undefined);
  }
}

/** Sends SIGTERM, and SIGKILL after 15 s. Resolves when the process has ended. */
export async function stop({ process: child }: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  child.stdin?.end();
  child.kill('SIGTERM');
  await gone;
  clearTimeout(timer);
}

/** Stops every running process. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((child) => stop(child)));
}

/** Stops every process and rejects further starts. */
export async function endAll(): Promise<void> {
  ending = true;
  await stopAll();
}

/** Returns different free ports on 127.0.0.1. */
export async function freePorts(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, () => freePort()));
}
