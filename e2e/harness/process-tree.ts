import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly command: string;
}

/** Lists the processes of this machine, without zombies. */
export const processes = (): Promise<ProcessInfo[]> => (process.platform === 'linux' ? fromProc() : fromPs());

/** Reads /proc: small distributions have no `ps`. */
async function fromProc(): Promise<ProcessInfo[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const found = await Promise.all(pids.map((pid) => readProcess(pid).catch(() => []))); // it may have ended
  return found.flat();
}

async function readProcess(pid: string): Promise<ProcessInfo[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before may hold anything
  if (state === 'Z' || state === 'X') return [];
  const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').join(' ').trim();
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), command }];
}

async function fromPs(): Promise<ProcessInfo[]> {
  const columns = ['pid=', 'ppid=', 'pgid=', 'stat=', 'args='].flatMap((column) => ['-o', column]);
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', ...columns], { maxBuffer: 32 * 1024 * 1024 });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, group, state = 'Z', command = ''] =
      /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (state.startsWith('Z')) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), command }];
  });
}

/** Lists the children of `pid` and their descendants, children first. */
export async function descendants(pid: number): Promise<ProcessInfo[]> {
  const all = await processes();
  const found: ProcessInfo[] = [];
  const parents = [pid];
  for (let parent = parents.shift(); parent !== undefined; parent = parents.shift()) {
    const children = all.filter((process) => process.parent === parent);
    found.push(...children);
    parents.push(...children.map((child) => child.pid));
  }
  return found;
}

/** Lists the candidates that still run: same id and same command line. */
export async function stillRunning(candidates: readonly ProcessInfo[]): Promise<ProcessInfo[]> {
  const all = await processes();
  return candidates.filter(({ pid, command }) =>
    all.some((process) => process.pid === pid && process.command === command),
  );
}
