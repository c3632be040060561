import { Closed } from '../contract/fields.ts';
import type { CredentialHeaders } from './authenticator.ts';
import { defineStrategy } from './strategy.ts';

const NOTHING: CredentialHeaders = Object.freeze({});

/** Sends no credential. */
export const unauthenticated = defineStrategy({
  type: 'unauthenticated',
  description: 'No credential is sent.',
  perUser: false,
  spec: undefined,
  config: Closed({}),
  resolve: () => ({}),
  create: () => ({ perUser: false, headers: () => NOTHING, refused: () => false }),
});
