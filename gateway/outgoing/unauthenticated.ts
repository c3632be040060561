import { Closed } from '../contract/fields.ts';
import { defineStrategy } from './strategy.ts';

/** Sends no credential. */
export const unauthenticated = defineStrategy({
  type: 'unauthenticated',
  description: 'No credential is sent.',
  spec: undefined,
  config: Closed({}),
  resolve: () => ({}),
  create: () => () => undefined,
});
