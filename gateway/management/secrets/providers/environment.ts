import { environmentSecret } from '../environment-secrets.ts';
import type { ProviderVariant } from './provider.ts';

/** Variables of the process, which name no list: read only. */
export const environment: ProviderVariant<'environment'> = {
  type: 'environment',
  hasFallback: false,
  create: ({ env }) => ({
    setUp: async () => undefined,
    get: async (name) => environmentSecret(env, name),
  }),
};
