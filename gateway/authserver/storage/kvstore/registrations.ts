import type { Registrations } from '../store.ts';
import type { Records } from './sealed-records.ts';

export function kvstoreRegistrations(records: Records): Registrations {
  const keyOf = (key: string): string => records.key('reg', key);
  return {
    async get(key) {
      const record = await records.getSealed<{ readonly text: string }>(keyOf(key));
      return record?.text;
    },
    async put(key, text) {
      await records.command('SET', keyOf(key), records.seal(keyOf(key), { text }));
    },
    async delete(key) {
      await records.command('DEL', keyOf(key));
    },
  };
}
