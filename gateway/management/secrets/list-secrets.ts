import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { defineManagementOperation } from '../operation.ts';
import { NOT_SET_UP, PROVIDER_PATH, UNSUPPORTED } from './secret-shapes.ts';

export const listSecrets = defineManagementOperation({
  id: 'listSecrets',
  method: 'GET',
  path: `${PROVIDER_PATH}/keys`,
  tag: 'secrets',
  summary: 'List the names of the secrets',
  input: {},
  success: {
    status: 200,
    body: Type.Object({
      keys: Type.Array(
        Type.Object(
          {
            key: Type.String({ description: 'Name of the secret.' }),
            description: Type.Optional(Type.String({ description: 'Titles of vault, item and field in 1Password.' })),
          },
          { title: 'Secret' },
        ),
      ),
    }),
  },
  errors: { not_set_up: NOT_SET_UP, unsupported: UNSUPPORTED, ...CLUSTER_UNAVAILABLE },
  run: async ({ secrets }) => ({ keys: await secrets.list() }),
});
