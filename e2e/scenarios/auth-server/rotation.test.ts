import { createPublicKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint, decodeProtectedHeader, exportJWK } from 'jose';
import { expect, it } from 'vitest';
import { initializeRequest, MCP_HEADERS, raw } from '../../harness/clients/raw.ts';
import { eventually } from '../../harness/poll.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope } from '../../harness/scope.ts';
import { bearer } from '../bearer-session.ts';
import { startAuthServer, type Gateway } from './gateway.ts';
import { manifestsOf, newKeys, type Keys } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';

const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? '';

/** Returns the thumbprint of a key (RFC 7638), which is its `kid`. */
const kidOfKey = async ({ signing }: Keys): Promise<string> =>
  calculateJwkThumbprint(await exportJWK(createPublicKey(signing)));

async function kids({ issuer }: Gateway): Promise<string[]> {
  const { keys } = (await (await fetch(`${issuer}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

async function statusAt({ url }: Gateway, token: string): Promise<number> {
  const headers = { ...MCP_HEADERS, ...bearer(token) };
  return (await raw(url, { method: 'POST', headers, body: initializeRequest() })).status;
}

/** Writes another list of keys and waits until the key set contains them. */
async function use(gateway: Gateway, keys: readonly Keys[]): Promise<void> {
  const text = manifestsOf(gateway.issuer, gateway.around, { keys });
  await writeFile(join(gateway.vmcp.folder, 'gateway.yaml'), text);
  const expected = await Promise.all(keys.map(kidOfKey));
  await eventually('the key set contains the keys', async () => (await kids(gateway)).join() === expected.join());
}

it('row 72: keys are rotated at run time without new logins', async () => {
  const [old, next] = [newKeys(), newKeys()];
  const gateway = await startAuthServer(testScope(), { keys: old }, { args: ['--watch'] });
  const client = await OAuthClient.register(gateway.issuer);
  const before = await client.login(new ScriptedBrowser({ user: 'ann' }));
  expect(kidOf(before.access_token)).toBe(await kidOfKey(old));

  await use(gateway, [old, next]);
  await use(gateway, [next, old]);
  expect(await statusAt(gateway, before.access_token)).toBe(200);
  const renewed = await client.refresh(before.refresh_token ?? '');
  expect(kidOf(renewed.access_token)).toBe(await kidOfKey(next));
  expect(await statusAt(gateway, renewed.access_token)).toBe(200);
  expect(await statusAt(gateway, before.access_token)).toBe(200);

  await use(gateway, [next]);
  expect(await statusAt(gateway, renewed.access_token)).toBe(200);
  expect(await statusAt(gateway, before.access_token)).toBe(401);
  expect((await client.refresh(renewed.refresh_token ?? '')).access_token).toBeDefined();
});
