import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { printable } from '../../../contract/text/printable.ts';
import { signalGroup } from '../../../workloads/runner/process/reaper.ts';
import { findOnPath } from '../../../workloads/runner/schemes/path.ts';
import { SkillError } from '../errors.ts';

/** Settings of git by their names. They are passed in the environment, because a list of processes shows arguments. */
export type GitSettings = Readonly<Record<string, string>>;

export interface GitRun {
  readonly args: readonly string[];
  readonly settings: GitSettings;
  /** Variable PATH of this process. */
  readonly searchPath: string | undefined;
  /** Protocol that git may use. */
  readonly protocol: 'http' | 'https';
  /** Size of the largest file that git may write. */
  readonly maxFileBytes: number;
  readonly signal: AbortSignal;
}

/** A host can make git write messages without end. */
const MAX_MESSAGE_BYTES = 4096;

/** git ended with an error; `message` is the last line that it wrote to standard error, and `output` the end of all lines. */
export class GitError extends Error {
  readonly output: string;

  constructor(output: string) {
    super(printable(output.trim().split('\n').at(-1) ?? ''));
    this.name = 'GitError';
    this.output = output;
  }
}

const MAX_MEMORY_KIB = 1024 * 1024;
const BLOCK_BYTES = 512;
/**
 * Limits each file (in blocks) and the address space (in KiB, where the system can) of a program and its children, then becomes that
 * program. A write beyond the limit fails, instead of ending the process by a signal. @see POSIX, ulimit
 */
const LIMITED = `trap '' XFSZ; ulimit -f "$1" && { ulimit -v ${String(MAX_MEMORY_KIB)} 2>/dev/null || :; } && shift && exec "$@"`;

/**
 * Runs git without settings of the user or the system, without prompts, and within limits, and reads its output. When `read`
 * fails or the signal is aborted, stops all of its processes, and returns after they have ended.
 * @throws GitError, the error of `read`, or the reason of the signal
 */
export async function runGit<Result>(
  { args, settings, searchPath, protocol, maxFileBytes, signal }: GitRun,
  read: (output: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const program = findOnPath('git', { PATH: searchPath });
  if (program === undefined) throw new SkillError('source_failed', 'the program git is missing: install git');
  signal.throwIfAborted();
  const env = { ...CLEAN, ...settingVariables(settings), PATH: searchPath ?? '', GIT_ALLOW_PROTOCOL: protocol };
  const limited = ['-c', LIMITED, 'sh', String(Math.ceil(maxFileBytes / BLOCK_BYTES)), program, ...args];
  const child = spawn('/bin/sh', limited, { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const stop = (): void => {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', stop, { once: true });
  const ended = once(child, 'close') as Promise<[number | null]>;
  try {
    const [result, errors, [code]] = await Promise.all([
      read(child.stdout),
      lastText(child.stderr, MAX_MESSAGE_BYTES),
      ended,
    ]);
    if (code !== 0) throw new GitError(errors);
    return result;
  } catch (error) {
    stop();
    await ended.catch(() => undefined);
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

const CLEAN = {
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
};

function settingVariables(settings: GitSettings): Record<string, string> {
  const entries = Object.entries(settings);
  return {
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([name, value], index) => [
        [`GIT_CONFIG_KEY_${String(index)}`, name],
        [`GIT_CONFIG_VALUE_${String(index)}`, value],
      ]),
    ),
  };
}

/** Reads a stream to its end and returns its last bytes as text. */
export async function lastText(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  let last = Buffer.alloc(0);
  for await (const chunk of stream) last = Buffer.from(Buffer.concat([last, chunk]).subarray(-maxBytes));
  return last.toString('utf8');
}
