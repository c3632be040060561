import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../../harness/poll.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope } from '../../harness/scope.ts';
import { temporaryFolder, vmcpResult } from '../../harness/vmcp.ts';
import { startAuthServer } from './gateway.ts';
import { manifestsOf, newKeys } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';

it('reports unusable keys, and keeps the current ones', async () => {
  const scope = testScope();
  const [good, next] = [newKeys(), newKeys()];
  const { vmcp, issuer, around } = await startAuthServer(scope, { keys: good }, { args: ['--watch'] });
  const client = await OAuthClient.register(issuer);
  const { refresh_token: refreshToken = '' } = await client.login(new ScriptedBrowser({ user: 'ann' }));
  const keySet = async (): Promise<string> => (await fetch(`${issuer}/.well-known/jwks.json`)).text();
  const before = await keySet();
  const use = (keys: typeof good) =>
    writeFile(join(vmcp.folder, 'gateway.yaml'), manifestsOf(issuer, around, { keys }));

  await use({ ...good, signing: 'canary' });
  await eventually('the key is named', () => /gateway\.yaml:\d+: .*signingKeySecretRefs\[0\]/u.test(vmcp.output()));
  await use({ ...good, hmac: 'canary' });
  await eventually('the secret is named', () => /gateway\.yaml:\d+: .*hmacSecretRefs\[0\]/u.test(vmcp.output()));
  await expect.poll(vmcp.output).toContain('the files were not applied: the previous configuration stays active');
  expect(vmcp.output()).not.toContain('canary');
  expect(await keySet()).toBe(before);
  expect((await client.refresh(refreshToken)).access_token).toBeDefined();

  await use(next);
  await eventually('the corrected files are used', async () => (await keySet()) !== before);

  const folder = await temporaryFolder(scope);
  await writeFile(join(folder, 'gateway.yaml'), manifestsOf(issuer, around, { keys: { ...good, signing: 'canary' } }));
  const { code, stderr } = await vmcpResult(scope, ['up', folder, '--port', '0']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/gateway\.yaml:\d+: .*signingKeySecretRefs\[0\]\.key: .*\[InvalidKeyFile\]/u);
});
