import type { StoreBackend } from './backend.ts';
import { memoryStore } from './memory.ts';

export const memoryBackend: StoreBackend<'memory'> = {
  type: 'memory',
  description: 'In the process: lost with it, and one replica only.',
  shared: false,
  async open(_config, { now, log }) {
    log.warn('the authorization server keeps everything in memory: a restart ends every login');
    return memoryStore(now);
  },
};
