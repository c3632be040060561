import { expect, it } from 'vitest';
import { SCHEMA_VERSION } from '../../contract/run-config/run-config.ts';
import { exportedConfig } from './run-config-document.ts';

it('exports no secret value, also not in the parameters of middlewares', () => {
  const exported = exportedConfig({
    schema_version: SCHEMA_VERSION,
    oidc_config: { issuer: 'https://issuer.example', clientSecret: 'canary' },
    remote_auth_config: { bearer_token: 'canary', client_secret: 'crm,target=SECRET' },
    middleware_configs: [
      {
        type: 'auth',
        parameters: { oidc_config: { clientSecret: 'canary', ClientSecret: 'canary', issuer: 'https://i' } },
      },
      {
        type: 'tokenexchange',
        parameters: { list: [{ client_secret: 'canary' }, { client_secret: 'crm,target=SECRET' }] },
      },
    ],
  });
  expect(JSON.stringify(exported)).not.toContain('canary');
  expect(exported.remote_auth_config).toEqual({ client_secret: 'crm,target=SECRET' });
  expect(exported.middleware_configs?.[1]?.parameters).toEqual({ list: [{}, { client_secret: 'crm,target=SECRET' }] });
});
