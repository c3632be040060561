import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { defineManagementOperation } from '../operation.ts';
import { NOT_SET_UP, PROVIDER_PATH, SECRET_NOT_FOUND, SecretPath, UNSUPPORTED } from './secret-shapes.ts';

export const deleteSecret = defineManagementOperation({
  id: 'deleteSecret',
  method: 'DELETE',
  path: `${PROVIDER_PATH}/keys/{key}`,
  tag: 'secrets',
  summary: 'Delete a secret',
  input: { path: SecretPath },
  success: { status: 204 },
  errors: {
    not_set_up: NOT_SET_UP,
    unsupported: UNSUPPORTED,
    secret_not_found: SECRET_NOT_FOUND,
    ...CLUSTER_UNAVAILABLE,
  },
  run: ({ secrets }, { path: { key } }) => secrets.delete(key),
});
