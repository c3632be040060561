import { readdir } from 'node:fs/promises';
import type { Logger } from '../../../contract/logger.ts';

/** Interval of the log lines: the user sees progress at least every 3 s. */
const INTERVAL_MS = 2_500;
/** Interval at which a display changes. */
const DISPLAY_MS = 1_000;

/** Display of the running installations by workload, in place of lines of the log. */
export interface InstallDisplay {
  /** `files` is 0 for an installation without a folder, and before it exists. */
  show(
    workload: string,
    progress: { readonly package: string; readonly seconds: number; readonly files: number },
  ): void;
  end(workload: string): void;
}

interface Installation {
  /** Names of the workload and of its package or image, in every line. */
  readonly facts: Readonly<Record<string, string>>;
  /** Folder that fills during the installation. */
  readonly dir?: string;
  readonly log: Pick<Logger, 'info'>;
  readonly display?: InstallDisplay | undefined;
}

/** Runs an installation. Shows the seconds since its start and the number of files in its folder every second, else logs them every 2.5 s. */
export async function reportProgress<T>(installation: Installation, install: () => Promise<T>): Promise<T> {
  const { facts, dir, log, display } = installation;
  const { workload = '', package: name = facts['image'] ?? '' } = facts;
  const intervalMs = display ? DISPLAY_MS : INTERVAL_MS;
  let ticks = 0;
  let isRunning = true;
  const timer = setInterval(() => {
    ticks += 1;
    const seconds = Math.floor((ticks * intervalMs) / 1_000);
    void countFiles(dir).then((files) => {
      if (!display) log.info('still installing', { ...facts, seconds, ...(files > 0 && { files }) });
      else if (isRunning) display.show(workload, { package: name, seconds, files });
    });
  }, intervalMs);
  display?.show(workload, { package: name, seconds: 0, files: 0 });
  try {
    return await install();
  } finally {
    isRunning = false;
    clearInterval(timer);
    display?.end(workload);
  }
}

const countFiles = async (dir: string | undefined): Promise<number> =>
  dir === undefined ? 0 : (await readdir(dir, { recursive: true }).catch(() => [])).length;
