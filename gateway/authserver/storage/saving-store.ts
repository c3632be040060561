import type { Store } from './store.ts';

/** Returns the store with operations that save each change before they resolve. Locks, rates and login attempts are not saved. */
export function savingStore(store: Store, save: () => Promise<void>): Store {
  const saved =
    <Args extends unknown[], Result>(change: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const result = await change(...args);
      await save();
      return result;
    };
  const { codes, families, clients, users, upstreamTokens: rows, registrations } = store;
  return {
    ...store,
    codes: { put: saved(codes.put), take: saved(codes.take) },
    families: {
      ...families,
      create: saved(families.create),
      rotate: saved(families.rotate),
      revoke: saved(families.revoke),
    },
    clients: {
      ...clients,
      register: saved(clients.register),
      put: saved(clients.put),
      renew: saved(clients.renew),
      delete: saved(clients.delete),
    },
    users: { ...users, resolve: saved(users.resolve) },
    upstreamTokens: {
      ...rows,
      put: saved(rows.put),
      replace: saved(rows.replace),
      extend: saved(rows.extend),
      delete: saved(rows.delete),
    },
    registrations: {
      ...registrations,
      put: saved(registrations.put),
      delete: saved(registrations.delete),
    },
  };
}
