import { readdir } from 'node:fs/promises';
import type { Logger } from '../../../contract/logger.ts';

/** Interval of the log lines: the user sees progress at least every 3 s. */
const INTERVAL_MS = 2_500;

interface Installation {
  /** Names of the workload and of its package or image, in every line. */
  readonly facts: Readonly<Record<string, string>>;
  /** Folder that fills during the installation. */
  readonly dir?: string;
  readonly log: Pick<Logger, 'info'>;
}

/** Runs an installation. Every 2.5 s logs the seconds since its start and the number of files in its folder. */
export async function reportProgress<T>({ facts, dir, log }: Installation, install: () => Promise<T>): Promise<T> {
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
    const seconds = Math.floor((ticks * INTERVAL_MS) / 1_000);
    void countFiles(dir).then((files) => {
      log.info('still installing', { ...facts, seconds, ...(files > 0 && { files }) });
    });
  }, INTERVAL_MS);
  try {
    return await install();
  } finally {
    clearInterval(timer);
  }
}

const countFiles = async (dir: string | undefined): Promise<number> =>
  dir === undefined ? 0 : (await readdir(dir, { recursive: true }).catch(() => [])).length;
