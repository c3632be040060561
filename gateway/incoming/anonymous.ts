import { declareIncoming } from './mode.ts';

/** No credentials, no access control. */
export const anonymous = declareIncoming({
  type: 'anonymous',
  description: 'No credentials are asked for and every access control is off. Development only.',
  spec: undefined,
  supported: true,
});
