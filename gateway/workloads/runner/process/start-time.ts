import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Returns the start time of process `pid` as opaque text, which differs between processes, also across a reboot.
 * Undefined when the process does not exist or is a zombie.
 */
export function startTime(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid < 1) return undefined;
  return process.platform === 'linux' ? linuxStartTime(pid) : psStartTime(pid);
}

/** Reads proc(5). The command name in field 2 can contain anything, so fields are counted from its last `)`. */
function linuxStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    if (state === 'Z' || state === 'X' || ticks === undefined) return undefined;
    return `${bootId()}:${ticks}`;
  } catch {
    return undefined;
  }
}

/** Reads the boot id, since ticks count from the boot. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return 'unknown';
  }
}

function psStartTime(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 });
    const [stat, ...started] = line.trim().split(/\s+/);
    return stat === undefined || stat === '' || stat.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
