import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface CommandOptions {
  /** Written to its stdin. */
  readonly input?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** True connects its streams to those of this process, for commands that print their progress. */
  readonly inherit?: boolean;
}

export interface Ended {
  /** Exit code; 1 after a signal. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program and resolves with any exit code. Rejects when it cannot be started. */
export async function attempt(file: string, args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const { input, env, timeoutMs = 120_000, inherit = false } = options;
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: inherit ? 'inherit' : 'pipe',
    timeout: timeoutMs,
  });
  const code = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
  child.stdin?.on('error', () => undefined); // it may end without reading all input
  child.stdin?.end(input);
  const read = (stream: typeof child.stdout) => (stream === null ? '' : text(stream));
  const [ended, stdout, stderr] = await Promise.all([code, read(child.stdout), read(child.stderr)]);
  return { code: ended, stdout, stderr };
}

/** Runs a program and returns its stdout. @throws Error with its output when the exit code is not 0 */
export async function run(file: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await attempt(file, args, options);
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}: ${stderr.trim() || stdout.trim()}`);
  return stdout;
}
