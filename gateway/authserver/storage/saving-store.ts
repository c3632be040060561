import type { Store } from './store.ts';

type Save = () => Promise<void>;
type Operation = (...args: unknown[]) => Promise<unknown>;

/** Returns the store with operations that save each change before they resolve. Locks, rates and login attempts are not saved. */
export const savingStore = (store: Store, save: Save): Store => ({
  ...store,
  codes: saving(store.codes, ['put', 'take'], save),
  families: saving(store.families, ['create', 'rotate', 'revoke'], save),
  clients: saving(store.clients, ['register', 'put', 'renew', 'delete'], save),
  users: saving(store.users, ['resolve'], save),
  upstreamTokens: saving(store.upstreamTokens, ['put', 'replace', 'extend', 'delete'], save),
  registrations: saving(store.registrations, ['put', 'delete'], save),
});

/** Returns `part` with these operations replaced. */
function saving<Part extends object>(part: Part, changes: readonly (keyof Part)[], save: Save): Part {
  const operations = changes.map((name): [string, Operation] => {
    const change = (part[name] as Operation).bind(part);
    const saved: Operation = async (...args) => {
      const result = await change(...args);
      await save();
      return result;
    };
    return [String(name), saved];
  });
  return { ...part, ...Object.fromEntries(operations) };
}
