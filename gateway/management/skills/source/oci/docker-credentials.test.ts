import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parseChallenge, tokenUrl } from './registry-client.ts';
import { authorizationIn, helperIn, registryAuthorization } from './docker-credentials.ts';

const auth = 'YW5uOnMzY3JldA==';

it.each([
  ['ghcr.io', 'ghcr.io', `Basic ${auth}`],
  ['https://ghcr.io', 'ghcr.io', `Basic ${auth}`],
  ['https://index.docker.io/v1/', 'docker.io', `Basic ${auth}`],
  ['ghcr.io', 'example.com', undefined],
  ['ghcr.io', 'ghcr.io:443', undefined],
])('the entry of %s is for %s: %s', (key, host, expected) => {
  expect(authorizationIn({ auths: { [key]: { auth } } }, host)).toBe(expected);
});

it.each([{}, { auths: 1 }, { auths: { a: 1 } }, { auths: { a: { auth: 'x\r\ny' } } }])('ignores %j', (config) => {
  expect(authorizationIn(config, 'a')).toBeUndefined();
});

it('chooses the helper of a registry, else the store of all', () => {
  const config = { credsStore: 'store', credHelpers: { 'ghcr.io': 'own', bad: '../x' } };
  expect(['ghcr.io', 'example.com', 'bad'].map((host) => helperIn(config, host))).toEqual(['own', 'store', undefined]);
});

it.each([
  [`read -r server; echo "{\\"Username\\": \\"ann\\", \\"Secret\\": \\"$1 $server\\"}"`, 'ann:get ghcr.io'],
  ['echo "{\\"Username\\": \\"<token>\\", \\"Secret\\": \\"x\\"}"', 'of:file'],
  ['echo credentials not found; exit 1', 'of:file'],
])('asks the helper, and falls back to the file: %s', async (script, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-credentials-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'docker-credential-own'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const auths = { 'ghcr.io': { auth: Buffer.from('of:file').toString('base64') } };
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ credsStore: 'own', auths }));
  const env = { PATH: `${folder}:/usr/bin:/bin`, DOCKER_CONFIG: folder };
  const header = await registryAuthorization('ghcr.io', { env, home: '/nonexistent' });
  expect(Buffer.from(header?.replace('Basic ', '') ?? '', 'base64').toString()).toBe(expected);
});

it('reads challenges', () => {
  const header = 'Bearer realm="https://auth.example/token",service="registry",scope="repository:a/b:pull"';
  const challenge = parseChallenge(header);
  expect(challenge).toEqual({
    realm: 'https://auth.example/token',
    service: 'registry',
    scope: 'repository:a/b:pull',
  });
  expect(typeof challenge === 'object' && tokenUrl(challenge)?.href).toBe(
    'https://auth.example/token?service=registry&scope=repository%3Aa%2Fb%3Apull',
  );
  expect(parseChallenge('Basic realm="x"')).toBe('basic');
  expect([parseChallenge(''), parseChallenge('Digest x'), parseChallenge('Bearer x')]).toEqual(
    Array(3).fill(undefined),
  );
});
