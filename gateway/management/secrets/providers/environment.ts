import { environmentSecret, type ProviderVariant } from './provider.ts';

/** Read-only provider: variables of the process. It cannot list secrets. */
export const environment: ProviderVariant<'environment'> = {
  type: 'environment',
  hasFallback: false,
  create: ({ env }) => ({
    setUp: async () => undefined,
    get: async (name) => environmentSecret(env, name),
  }),
};
