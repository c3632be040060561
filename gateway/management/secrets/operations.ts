import { Type } from 'typebox';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { CLUSTER_UNAVAILABLE } from '../cluster-access.ts';
import { API_BASE, operationsOn, type ManagementOperation } from '../operation.ts';
import { PROVIDERS } from './providers/index.ts';
import { SecretsFailure } from './secrets-failure.ts';

const operation = operationsOn('secrets');

/** Path of the provider in use. Only one provider is in use at a time. */
const PROVIDER_PATH = `${API_BASE}/secrets/default`;

const SecretPath = Type.Object({ key: Type.String({ minLength: 1, description: 'Name of the secret.' }) });

const SecretValue = Type.String({ minLength: 1, description: 'Value of the secret. No operation returns it.' });

const SecretResult = Type.Object(
  {
    key: Type.String({ description: 'Name of the secret.' }),
    message: Type.String({ description: 'Sentence for the user.' }),
  },
  { title: 'SecretResult' },
);

const ProviderName = Type.Enum(
  PROVIDERS.map(({ type }) => type),
  { title: 'SecretsProviderType', description: 'Kind of the secrets provider.' },
);

const NOT_SET_UP = {
  status: 404,
  message: 'no secrets provider is set up: set one up with POST /api/v1beta/secrets',
} as const;

const SECRETS_FULL = {
  status: 400,
  message: 'a cluster holds at most 1 MiB of secrets: delete secrets, or use a smaller value',
} as const;

const UNSUPPORTED = { status: 405, message: 'the secrets provider does not support this operation' } as const;

const SECRET_NOT_FOUND = {
  status: 404,
  message: 'there is no such secret: create it with POST /api/v1beta/secrets/default/keys',
} as const;

/** A longer name may not fit into the path of a request that deletes the secret. */
const MAX_SECRET_NAME = 1024;

/** Operations on secrets, in the order of the documentation. To add an operation, add an entry. */
export const SECRET_OPERATIONS: readonly ManagementOperation[] = [
  operation({
    id: 'setUpSecrets',
    method: 'POST',
    path: `${API_BASE}/secrets`,
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
      body: Type.Object({
        provider_type: ProviderName,
        message: Type.String({ description: 'Sentence for the user.' }),
      }),
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
        message:
          'the password differs from the one in the environment of vmcp: leave it out, or change the environment',
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
  }),
  operation({
    id: 'getSecretsProvider',
    method: 'GET',
    path: PROVIDER_PATH,
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
  }),
  operation({
    id: 'listSecrets',
    method: 'GET',
    path: `${PROVIDER_PATH}/keys`,
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
  }),
  operation({
    id: 'createSecret',
    method: 'POST',
    path: `${PROVIDER_PATH}/keys`,
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
  }),
  operation({
    id: 'updateSecret',
    method: 'PUT',
    path: `${PROVIDER_PATH}/keys/{key}`,
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
  }),
  operation({
    id: 'deleteSecret',
    method: 'DELETE',
    path: `${PROVIDER_PATH}/keys/{key}`,
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
  }),
];
