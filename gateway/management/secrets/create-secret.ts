import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { defineManagementOperation } from '../operation.ts';
import { NOT_SET_UP, PROVIDER_PATH, SecretResult, SECRETS_FULL, SecretValue, UNSUPPORTED } from './secret-shapes.ts';

/** A longer name may not fit into the path of a request that deletes the secret. */
const MAX_SECRET_NAME = 1024;

export const createSecret = defineManagementOperation({
  id: 'createSecret',
  method: 'POST',
  path: `${PROVIDER_PATH}/keys`,
  tag: 'secrets',
  summary: 'Create a new secret',
  description:
    'Only for the providers `encrypted` and `cluster`. A secret in an environment variable counts as existing.',
  input: {
    body: Type.Object({
      key: Type.String({ minLength: 1, maxLength: MAX_SECRET_NAME, description: 'Name of the secret.' }),
      value: SecretValue,
    }),
  },
  success: { status: 201, body: SecretResult },
  errors: {
    reserved_name: { status: 400, message: 'names that start with __sys_ belong to vmcp: choose another one' },
    invalid_secret_name: {
      status: 400,
      message: 'in a cluster a secret name has letters, digits, ".", "_" and "-", at most 253: choose another one',
    },
    secrets_full: SECRETS_FULL,
    not_set_up: NOT_SET_UP,
    unsupported: UNSUPPORTED,
    secret_exists: {
      status: 409,
      message: 'there is already a secret of this name: update it with PUT, or choose another name',
    },
    ...CLUSTER_UNAVAILABLE,
  },
  run: async ({ secrets }, { body: { key, value } }) => {
    await secrets.create(key, value);
    return { key, message: 'secret created' };
  },
});
