import { kvstore } from './kvstore.ts';
import { memory } from './memory.ts';
import { storeRegistry } from './variant.ts';

/** Every store of the authorization server, the default one first. A new one is one line here. */
export const STORES = [memory, kvstore] as const;

export const { createStore, openKeyValues, readStorage, resolveStore, storeFacts, storeOf } = storeRegistry(STORES);
