import { Type } from 'typebox';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { API_BASE, defineManagementOperation } from '../operation.ts';
import { ProviderName } from './secret-shapes.ts';
import { SecretsFailure } from './secrets-failure.ts';

export const setUpSecrets = defineManagementOperation({
  id: 'setUpSecrets',
  method: 'POST',
  path: `${API_BASE}/secrets`,
  tag: 'secrets',
  summary: 'Set up or reconfigure the secrets provider',
  description: 'The provider is tested first. If the test fails, the answer has the reason, and nothing changes.',
  input: {
    body: Type.Object({
      provider_type: ProviderName,
      password: Type.Optional(
        Type.String({
          description:
            'Password of the encrypted file. Without it, vmcp uses the password in its environment or in the keyring of the operating system, or generates one and stores it in the keyring.',
        }),
      ),
    }),
  },
  success: {
    status: 201,
    body: Type.Object({ provider_type: ProviderName, message: Type.String({ description: 'Sentence for the user.' }) }),
  },
  errors: {
    no_keyring: { status: 400, message: 'this machine has no keyring for the password' },
    no_cluster: {
      status: 400,
      message: 'the provider cluster needs vmcp serve with "workloads": "kubernetes": choose another one',
    },
    only_cluster: { status: 400, message: 'in a cluster the only provider is cluster, which needs no setup' },
    password_conflict: {
      status: 400,
      message: 'the password differs from the one in the environment of vmcp: leave it out, or change the environment',
    },
    provider_not_ready: {
      status: 400,
      message: 'the provider cannot be used with the password, or with the environment of vmcp',
    },
    ...CLUSTER_UNAVAILABLE,
  },
  run: async ({ secrets }, { body: { provider_type, password } }) => ({
    provider_type,
    message: await secrets.setUp(provider_type, password).catch((error: unknown) => {
      const isOfSettings = error instanceof SecretsFailure && error.kind === 'settings';
      throw isOfSettings ? new OperationError('provider_not_ready', error.message) : error;
    }),
  }),
});
