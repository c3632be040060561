import type { StoreBackend } from './backend.ts';
import { kvstoreSettings } from './kvstore/settings.ts';
import { createSealer } from './sealing.ts';

export const kvstoreBackend: StoreBackend<'kvstore'> = {
  type: 'kvstore',
  description: 'In Redis or what speaks its protocol: a single server, sentinels or a cluster.',
  shared: true,
  /** The client is loaded when it is used: who only reads configurations does without. */
  async open({ kvstore_config: config }, { now, log, env, secrets, keyPrefix }) {
    if (!config) throw new Error('storage.kvstore_config is required where storage.type is kvstore');
    const settings = kvstoreSettings(config, { env, keyPrefix });
    const [{ openKeyValueStore }, { kvstoreStore }] = await Promise.all([
      import('../../kvstore/open.ts'),
      import('./kvstore/store.ts'),
    ]);
    return kvstoreStore(openKeyValueStore(settings, log), createSealer(secrets), now);
  },
};
