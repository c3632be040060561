import snapshot from '../snapshot/registry.json' with { type: 'json' };
import { catalogIn } from '../document/catalog.ts';
import type { RegistryReading, RegistrySource } from './source.ts';

let reading: RegistryReading | undefined;

/** Servers that come with vmcp. */
export const builtIn: RegistrySource = {
  type: 'default',
  isRemote: false,
  read: async (_location, { readAt }) =>
    (reading ??= { catalog: catalogIn(JSON.stringify(snapshot), 'the built-in registry', readAt) }),
};
