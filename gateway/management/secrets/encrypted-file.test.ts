import { describe, expect, it } from 'vitest';
import { KeyDeriver } from './encrypted-file.ts';
import type { Scrypt } from './file-format.ts';

const SCRYPT: Scrypt = {
  kind: 'scrypt',
  log2Cost: 10,
  blockSize: 8,
  parallelism: 16,
  salt: Buffer.from('SodiumChloride'),
};

describe('KeyDeriver', () => {
  it('derives the first 32 bytes of the test vector of RFC 7914, section 12', async () => {
    const vector: Scrypt = { ...SCRYPT, salt: Buffer.from('NaCl') };
    const key = await new KeyDeriver().keyOf('password', vector);
    expect(key.export().toString('hex')).toBe('fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162');
  });

  it('derives a key once for a password and its parameters', async () => {
    const keys = new KeyDeriver();
    const key = await keys.keyOf('password', SCRYPT);
    expect(await keys.keyOf('password', { ...SCRYPT, salt: Buffer.from(SCRYPT.salt) })).toBe(key);
    expect(await keys.keyOf('passwor', SCRYPT)).not.toBe(key);
    expect((await keys.keyOf('password', { ...SCRYPT, salt: Buffer.from('other') })).equals(key)).toBe(false);
    expect((await keys.keyOf('password', { ...SCRYPT, log2Cost: 4 })).equals(key)).toBe(false);
  });

  it('derives a key again when it is no longer among the last four', async () => {
    const keys = new KeyDeriver();
    const derivation = { kind: 'sha256' } as const;
    const first = await keys.keyOf('0', derivation);
    for (const password of ['1', '2', '3', '4']) await keys.keyOf(password, derivation);
    const again = await keys.keyOf('0', derivation);
    expect(again).not.toBe(first);
    expect(again.equals(first)).toBe(true);
  });
});
