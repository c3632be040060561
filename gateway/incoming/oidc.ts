import { declareIncoming } from './mode.ts';

/** Bearer tokens of an issuer. Which issuer, the members `oidcConfig` and `oidcConfigRef` of the resource say. */
export const oidc = declareIncoming({
  type: 'oidc',
  description: 'A bearer token of the configured issuer is required.',
  spec: undefined,
  supported: true,
});
