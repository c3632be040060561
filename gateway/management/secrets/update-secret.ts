import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { defineManagementOperation } from '../operation.ts';
import {
  NOT_SET_UP,
  PROVIDER_PATH,
  SECRET_NOT_FOUND,
  SecretPath,
  SecretResult,
  SECRETS_FULL,
  SecretValue,
  UNSUPPORTED,
} from './secret-shapes.ts';

export const updateSecret = defineManagementOperation({
  id: 'updateSecret',
  method: 'PUT',
  path: `${PROVIDER_PATH}/keys/{key}`,
  tag: 'secrets',
  summary: 'Update a secret',
  description: 'Only for the providers `encrypted` and `cluster`.',
  input: { path: SecretPath, body: Type.Object({ value: SecretValue }) },
  success: { status: 200, body: SecretResult },
  errors: {
    secrets_full: SECRETS_FULL,
    not_set_up: NOT_SET_UP,
    unsupported: UNSUPPORTED,
    secret_not_found: SECRET_NOT_FOUND,
    ...CLUSTER_UNAVAILABLE,
  },
  run: async ({ secrets }, { path: { key }, body: { value } }) => {
    await secrets.update(key, value);
    return { key, message: 'secret updated' };
  },
});
