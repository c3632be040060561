import { createLog } from '../log.ts';

/** Logs three lines that are written together, and one more while the process exits. */
const log = createLog(process.stderr, 'info');
process.once('exit', () => log.info('last'));
for (const message of ['one', 'two', 'three']) log.info(message);
process.exit(0);
