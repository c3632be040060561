import { readdir } from 'node:fs/promises';
import type { Logger } from '../../../contract/logger.ts';

/** Time between two lines at first: nobody waits for longer than 3 s without a sign of life. */
const INTERVAL_MS = 2_500;
/** After this time, as between two of its lines, a long installation is known to be one. */
const LONG_MS = 30_000;

interface Installation {
  /** Names of the workload and of its package or image, in every line. */
  readonly facts: Readonly<Record<string, string>>;
  /** Folder that fills during the installation. */
  readonly dir?: string;
  readonly log: Pick<Logger, 'info'>;
}

/**
 * Runs an installation. Logs the seconds since its start and the number of files in its folder: every 2.5 s, and after 30 s
 * every 30 s.
 */
export async function reportProgress<T>({ facts, dir, log }: Installation, install: () => Promise<T>): Promise<T> {
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
    const ms = ticks * INTERVAL_MS;
    if (ms > LONG_MS && ms % LONG_MS !== 0) return;
    const seconds = Math.floor(ms / 1_000);
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
