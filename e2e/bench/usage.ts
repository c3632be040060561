import { existsSync, readFileSync } from 'node:fs';

/** Kernel clock ticks per second in /proc/<pid>/stat: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface Usage {
  /** User and system time of all threads since the start of the process. */
  readonly cpuSeconds: number;
  readonly rssMb: number;
}

/** Returns the usage of a process; null on systems without /proc (macOS). */
export function usage(pid: number): Usage | null {
  if (!existsSync('/proc/self/stat')) return null;
  const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  // Counted after the command name, which may contain blanks: utime and stime are fields 14 and 15 in proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const rss = /^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND, rssMb: Number(rss) / 1024 };
}
