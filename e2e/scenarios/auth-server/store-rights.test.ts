import { expect, it } from 'vitest';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { initializeRequest, MCP_HEADERS, raw, REVISION } from '../../harness/clients/raw.ts';
import { hasRedis, startRedis } from '../../harness/redis.ts';
import { testScope } from '../../harness/scope.ts';
import { startAuthServer } from './gateway.ts';
import { newKeys } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';

const WARNING = 'the user of the key-value store lacks rights for the sessions';
/** Rights for logins alone: `gateway/authserver/storage/STORAGE.md`. */
const RIGHTS =
  '~vmcp:auth:{default:gateway}:* -@all +get +set +del +pexpire +pttl +exists +sadd +srem +smembers +@sortedset +@hash +eval +evalsha +info +select';

it.runIf(hasRedis).each([
  { name: 'absent', status: 503, storage: 'kvstore', warnings: 1 },
  { name: 'memory', sessionStorage: { provider: 'memory' }, status: 200, storage: 'memory', warnings: 0 },
])(
  'new sessions get $status when sessionStorage is $name and the user of the store has only the rights for logins',
  async ({ sessionStorage, status, storage, warnings }) => {
    const scope = testScope();
    const redis = await startRedis(scope, { config: [`user default on >password resetkeys resetchannels ${RIGHTS}`] });
    const { issuer, url, vmcp } = await startAuthServer(scope, {
      kvstore: {
        addr: `127.0.0.1:${String(redis.port)}`,
        aclUserConfig: { passwordSecretRef: { name: 'keys', key: 'password' } },
      },
      keys: newKeys(),
      secrets: { password: 'password' },
      ...(sessionStorage && { sessionStorage }),
    });
    const { access_token: token } = await (
      await OAuthClient.register(issuer)
    ).login(new ScriptedBrowser({ user: 'ann' }));
    const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}` };
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const response = await raw(url, { method: 'POST', headers, body: initializeRequest(REVISION) });
      expect(response.status, response.body).toBe(status);
    }
    await expect.poll(() => vmcp.output().split(WARNING)).toHaveLength(1 + warnings);
    const shown = (await (await fetch(`${vmcp.management}/status`)).json()) as object;
    expect(shown).toMatchObject({ session_storage: storage });
  },
);
