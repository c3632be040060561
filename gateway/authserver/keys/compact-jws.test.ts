import { generateKeyPairSync } from 'node:crypto';
import { compactVerify, importJWK } from 'jose';
import { expect, it } from 'vitest';
import { compactJws, readSigningKey } from './signing-keys.ts';
import { ecKey, pem, rsaKey } from './testdata/files.ts';

it.each([
  ['RS256', rsaKey()],
  ['ES256', ecKey('P-256')],
  ['ES384', ecKey('P-384')],
  ['ES512', ecKey('P-521')],
  ['EdDSA', generateKeyPairSync('ed25519').privateKey],
])('signs with %s so that jose verifies it', async (alg, privateKey) => {
  const key = readSigningKey(pem(privateKey));
  const claims = { sub: 'Zoë "quoted" \u{1f600}', absent: undefined };
  const token = await compactJws(key, 'at+jwt', claims);
  const verified = await compactVerify(token, await importJWK(key.publicJwk), { algorithms: [alg] });
  expect(verified.protectedHeader).toEqual({ alg, kid: key.kid, typ: 'at+jwt' });
  expect(JSON.parse(Buffer.from(verified.payload).toString())).toEqual({ sub: claims.sub });
  const [header, , signature] = token.split('.');
  const forged = `${String(header)}.${Buffer.from('{"sub":"eve"}').toString('base64url')}.${String(signature)}`;
  await expect(compactVerify(forged, await importJWK(key.publicJwk))).rejects.toThrow('signature verification failed');
});
