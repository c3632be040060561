import { constants, fstatSync, write } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { Destination } from './output.ts';
import { AuditUnusable } from './unusable.ts';

/** Append only. A pipe without a reader fails instead of waiting for one. */
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
export async function openFile(path: string): Promise<Destination> {
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
export function standardOutput(stream: Writable): Destination {
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
