import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { Logger } from '../contract/logger.ts';
import { AuditOutput, OUTPUT_LIMITS, type OutputLimits, type AuditDestination } from './output.ts';
import { constants, fstatSync, write } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { AuditUnusable } from './settings.ts';

export interface AuditOutputsOptions {
  /** Standard output of the process. */
  readonly stdout: Writable;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Called when the first file is opened, and with false when the last one is closed. */
  readonly onFiles: (any: boolean) => void;
  readonly limits?: OutputLimits | undefined;
}

interface Shared {
  readonly output: AuditOutput;
  users: number;
}

/** A shared output. `release` closes it when nobody uses it any more. */
export interface HeldOutput {
  readonly output: AuditOutput;
  release(): Promise<void>;
}

const STDOUT_NAMES: ReadonlySet<string> = new Set(['', '/dev/stdout', '/proc/self/fd/1', '/dev/fd/1']);
const STDOUT = '';

/** Outputs of all audit logs of the process: one for each file, and one for standard output. */
export class AuditOutputs {
  readonly #options: AuditOutputsOptions;
  readonly #shared = new Map<string, Shared>();

  constructor(options: AuditOutputsOptions) {
    this.#options = options;
  }

  /** Opens the output of a log file; without one, standard output. Rejects with `AuditUnusable`. */
  async open(logFile = STDOUT): Promise<HeldOutput> {
    const key = STDOUT_NAMES.has(logFile) ? STDOUT : resolve(logFile);
    const shared = this.#shared.get(key) ?? (await this.#create(key));
    shared.users += 1;
    return {
      output: shared.output,
      release: async () => {
        shared.users -= 1;
        if (shared.users > 0) return;
        this.#shared.delete(key);
        if (key !== STDOUT && !this.#hasFiles()) this.#options.onFiles(false);
        await shared.output.close();
      },
    };
  }

  /** Opens every file again, because a program that rotates logs has renamed them. */
  reopen(): void {
    for (const { output } of this.#shared.values()) output.reopen();
  }

  async #create(key: string): Promise<Shared> {
    const { stdout, log, limits = OUTPUT_LIMITS, onFiles } = this.#options;
    const destination = key === STDOUT ? standardOutput(stdout) : await openFile(key);
    const present = this.#shared.get(key);
    if (present) {
      await destination.close();
      return present;
    }
    if (key !== STDOUT && !this.#hasFiles()) onFiles(true);
    const shared = { output: new AuditOutput(destination, log, limits), users: 0 };
    this.#shared.set(key, shared);
    return shared;
  }

  #hasFiles(): boolean {
    return [...this.#shared.keys()].some((key) => key !== STDOUT);
  }
}

/** Append only. A pipe without a reader fails instead of waiting. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** For the owner only: events name users, and may contain requests. */
const MODE = 0o600;
const LINE_BREAK = 0x0a;
const STDOUT_FD = 1;

const unusable = (path: string, advice: string, cause?: unknown): AuditUnusable =>
  new AuditUnusable(`audit logFile: ${path} ${advice}`, cause);

const ADVICE: Readonly<Record<string, string>> = {
  EISDIR: 'is a folder: name a file in it',
  ENOENT: 'cannot be created, because its folder does not exist: create the folder',
  ENOTDIR: 'cannot be created, because a part of its path is no folder: correct the path',
  EACCES: 'cannot be written (EACCES): correct its permissions, or name another file',
  EPERM: 'cannot be written (EPERM): correct its permissions, or name another file',
  EROFS: 'is on a read-only disk: mount a writable volume there, or name another file',
  ENXIO: 'is a pipe that nobody reads: name a file',
};

/** Opens a file to which lines are appended. Rejects with `AuditUnusable`. */
async function openFile(path: string): Promise<AuditDestination> {
  let { handle, head } = await appendTo(path);
  return {
    name: path,
    write: async (bytes) => {
      if (head.length > 0) {
        await handle.write(head);
        head = NOTHING;
      }
      return (await handle.write(bytes)).bytesWritten;
    },
    sync: () => handle.datasync(),
    reopen: async () => {
      const [previous, next] = [handle, await appendTo(path)];
      ({ handle, head } = next);
      await previous.close();
    },
    close: () => handle.close(),
  };
}

const NOTHING = Buffer.alloc(0);

/** `head` ends the last line of a file whose writer was killed. */
async function appendTo(path: string): Promise<{ handle: FileHandle; head: Buffer }> {
  const handle = await open(path, FLAGS, MODE).catch((error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    throw unusable(path, ADVICE[code] ?? `cannot be written (${code}): name another file`, error);
  });
  const stats = await handle.stat();
  if (!stats.isFile()) {
    await handle.close();
    throw unusable(path, 'is not a file: name one');
  }
  const { size } = stats;
  return { handle, head: size > 0 && !(await endsLine(path, size)) ? Buffer.of(LINE_BREAK) : NOTHING };
}

/** Returns true if the file ends with a line break, or cannot be read. */
async function endsLine(path: string, size: number): Promise<boolean> {
  const reader = await open(path, 'r').catch(() => undefined);
  if (!reader) return true;
  try {
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(1), 0, 1, size - 1);
    return bytesRead === 0 || buffer[0] === LINE_BREAK;
  } finally {
    await reader.close();
  }
}

const writeTo = promisify(write);

/** Returns standard output as a destination. `stream` is that of the process. */
function standardOutput(stream: Writable): AuditDestination {
  const isFile = fstatSync(STDOUT_FD).isFile();
  return {
    name: 'standard output',
    // Node.js writes to a file synchronously, which a slow disk would turn into a pause of every call
    write: isFile
      ? async (bytes) => (await writeTo(STDOUT_FD, bytes)).bytesWritten
      : (bytes) =>
          new Promise((resolve, reject) => {
            stream.write(bytes, (error) => {
              if (error) reject(error);
              else resolve(bytes.length);
            });
          }),
    sync: () => Promise.resolve(),
    reopen: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
