import { expect, it } from 'vitest';
import { SCHEMA_VERSION } from '../../contract/run-config/run-config.ts';
import { extractSecrets, KEPT_SECRETS } from './kept-secrets.ts';

it('replaces values of secrets by references, and keeps references', () => {
  const before = {
    schema_version: SCHEMA_VERSION,
    oidc_config: { issuer: 'https://i', clientSecret: 'canary-1' },
    token_exchange_config: { client_secret: 'canary-2' },
    remote_auth_config: { client_secret: 'crm,target=SECRET', bearer_token: 'canary-3' },
  } as const;
  const { config, values } = extractSecrets(before);
  expect(JSON.stringify(config)).not.toContain('canary');
  expect([...values.values()]).toEqual(['canary-1', 'canary-2', 'canary-3']);
  expect(KEPT_SECRETS).toEqual(expect.arrayContaining([...values.keys()]));
  expect(config.remote_auth_config?.client_secret).toBe('crm,target=SECRET');
  expect(before.oidc_config.clientSecret).toBe('canary-1');
  expect(extractSecrets(config)).toEqual({ config, values: new Map() });
});

it('keeps a secret of a middleware whose keys another program wrote', () => {
  const oidc_config = { Issuer: 'https://i', ClientSecret: 'canary', Scopes: null };
  const chain = [{ type: 'auth', parameters: { oidc_config } }];
  const { config, values } = extractSecrets({ schema_version: SCHEMA_VERSION, middleware_configs: chain });
  const [name = ''] = values.keys();
  expect([...values.values()]).toEqual(['canary']);
  expect(config.middleware_configs?.[0]?.parameters).toEqual({
    oidc_config: { issuer: 'https://i', clientSecret: `${name},target=clientSecret` },
  });
});

it('has nothing to keep without secrets', () => {
  const config = { schema_version: SCHEMA_VERSION, oidc_config: { clientSecret: '' } } as const;
  expect(extractSecrets(config)).toEqual({ config, values: new Map() });
});

it('gives a new value a name that neither the present settings nor those before them use', () => {
  const withSecret = (clientSecret: string) =>
    ({ schema_version: SCHEMA_VERSION, oidc_config: { clientSecret } }) as const;
  const first = extractSecrets(withSecret('one')).config;
  const second = extractSecrets(withSecret('two'), [first]).config;
  const third = extractSecrets(withSecret('three'), [second, first]).config;
  const fourth = extractSecrets(withSecret('four'), [third]).config;
  const names = [first, second, third, fourth].map(({ oidc_config }) => oidc_config?.clientSecret?.split(',')[0]);
  expect(new Set(names.slice(0, 3)).size).toBe(3);
  expect(names[3]).toBe(names[0]);
  expect(KEPT_SECRETS).toEqual(expect.arrayContaining(names));
});
