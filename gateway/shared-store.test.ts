import { describe, expect, it } from 'vitest';
import { VMCP } from './contract/testdata/vmcp-config.ts';
import { checkGatewayConfig } from './read-gateway-config.ts';
import { PASSWORD_VARIABLE, sharedStoreOf } from './shared-store.ts';

const kvstore = { type: 'kvstore', kvstore_config: { addr: 'logins.example.com' } };
const sessions = { session_kvstore: { address: 'sessions.example.com', db: 2, key_prefix: 'team:' } };
const users = {
  oidc_config: { issuer: 'https://desk.example.com', audience: 'https://desk.example.com/mcp' },
  vmcp: { ...VMCP, backends: [], incoming: { type: 'oidc' } },
};
const authServer = (storage: object) => ({
  ...users,
  embedded_auth_server_config: {
    schema_version: 'v0.1.0',
    issuer: 'https://desk.example.com',
    allowed_audiences: ['https://desk.example.com/mcp'],
    upstreams: [
      { name: 'corp', type: 'oidc', oidc_config: { issuer_url: 'https://idp.example.com', client_id: 'desk' } },
    ],
    storage,
  },
});

/** Returns the store of a valid configuration. */
function storeOf(members: object) {
  const read = checkGatewayConfig({
    schema_version: 'v0.1.0',
    name: 'desk',
    vmcp: { ...VMCP, backends: [] },
    ...members,
  });
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return sharedStoreOf(read.config);
}

describe('the store that replicas share', () => {
  it('is session_kvstore', () => {
    expect(storeOf({ scaling_config: sessions })).toMatchObject({
      storage: { type: 'kvstore', kvstore_config: { addr: 'sessions.example.com' } },
      prefix: 'team:',
      db: 2,
      passwordVariable: PASSWORD_VARIABLE,
    });
  });

  it('has its password in a file or in the environment, not in both', () => {
    const session_kvstore = { address: 'sessions.example.com', password_file: '/etc/vmcp/secrets/store/password' };
    expect(storeOf({ scaling_config: { session_kvstore } })).not.toHaveProperty('passwordVariable');
  });

  it('is session_kvstore also when the authorization server has a store', () => {
    expect(storeOf({ ...authServer(kvstore), scaling_config: sessions })?.storage.kvstore_config).toEqual({
      addr: 'sessions.example.com',
    });
  });

  it('is the store of the authorization server without session_kvstore', () => {
    expect(storeOf(authServer(kvstore))).toMatchObject({ storage: kvstore, prefix: 'vmcp:' });
  });

  it('does not exist when the authorization server keeps its logins in memory', () => {
    expect(storeOf(authServer({ type: 'memory' }))).toBeUndefined();
    expect(storeOf({})).toBeUndefined();
  });
});
