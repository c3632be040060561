import { Type } from 'typebox';
import { defineManagementOperation } from '../operation.ts';
import { NOT_SET_UP, PROVIDER_PATH, ProviderName } from './secret-shapes.ts';

export const getSecretsProvider = defineManagementOperation({
  id: 'getSecretsProvider',
  method: 'GET',
  path: PROVIDER_PATH,
  tag: 'secrets',
  summary: 'Get the secrets provider and its capabilities',
  input: {},
  success: {
    status: 200,
    body: Type.Object(
      {
        name: Type.Enum(['default']),
        provider_type: ProviderName,
        capabilities: Type.Object(
          {
            can_read: Type.Boolean(),
            can_write: Type.Boolean(),
            can_delete: Type.Boolean(),
            can_list: Type.Boolean(),
            can_cleanup: Type.Boolean({ description: 'The provider can delete all secrets at once.' }),
          },
          { title: 'SecretsProviderCapabilities' },
        ),
      },
      { title: 'SecretsProvider' },
    ),
  },
  errors: { not_set_up: NOT_SET_UP },
  run: async ({ secrets }) => {
    const { type, capabilities } = await secrets.describe();
    return { name: 'default', provider_type: type, capabilities };
  },
});
