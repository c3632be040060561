import { kvstoreBackend } from './kvstore-backend.ts';
import { memoryBackend } from './memory-backend.ts';
import { storeRegistry } from './registry.ts';

/** Where the authorization server can keep things. A new backend is one file and one line here. */
export const STORES = [memoryBackend, kvstoreBackend] as const;

export const { openStore, isShared } = storeRegistry(STORES);
