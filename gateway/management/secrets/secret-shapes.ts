import { Type } from 'typebox';
import { API_BASE } from '../operation.ts';
import { PROVIDERS } from './providers/index.ts';

/** Path of the provider in use. Only one provider is in use at a time. */
export const PROVIDER_PATH = `${API_BASE}/secrets/default`;

export const SecretPath = Type.Object({ key: Type.String({ minLength: 1, description: 'Name of the secret.' }) });

export const SecretValue = Type.String({ minLength: 1, description: 'Value of the secret. No operation returns it.' });

export const SecretResult = Type.Object(
  {
    key: Type.String({ description: 'Name of the secret.' }),
    message: Type.String({ description: 'Sentence for the user.' }),
  },
  { title: 'SecretResult' },
);

export const ProviderName = Type.Enum(
  PROVIDERS.map(({ type }) => type),
  { title: 'SecretsProviderType', description: 'Kind of the secrets provider.' },
);

export const NOT_SET_UP = {
  status: 404,
  message: 'no secrets provider is set up: set one up with POST /api/v1beta/secrets',
} as const;

export const SECRETS_FULL = {
  status: 400,
  message: 'a cluster holds at most 1 MiB of secrets: delete secrets, or use a smaller value',
} as const;

export const UNSUPPORTED = { status: 405, message: 'the secrets provider does not support this operation' } as const;

export const SECRET_NOT_FOUND = {
  status: 404,
  message: 'there is no such secret: create it with POST /api/v1beta/secrets/default/keys',
} as const;
