import { Type } from 'typebox';
import { Closed } from '../contract/fields.ts';
import { SecretKeyRef } from '../contract/references.ts';
import { HEADER_NAME_PATTERN, safeHeader } from '../contract/rule.ts';
import { declareStrategy } from './strategy.ts';

/** Sends a fixed header from a Secret. */
export const headerInjection = declareStrategy({
  type: 'headerInjection',
  description: 'A fixed header from a Secret.',
  spec: Closed(
    {
      headerName: Type.String({
        pattern: HEADER_NAME_PATTERN,
        minLength: 1,
        maxLength: 255,
        description: 'Name of the header.',
      }),
      valueSecretRef: SecretKeyRef('Value of the header.'),
    },
    { description: 'Set when `type` is `headerInjection`.' },
  ),
  rules: [safeHeader('', 'headerName', ['authorization'])],
});
