import { createCipheriv, createHash, createSecretKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openEnvelope, parseEnvelope, sealEnvelope, type SecretsEnvelope, type Scrypt } from './file-format.ts';

const KEY = createSecretKey(Buffer.alloc(32, 7));
const NONCE = Buffer.alloc(12, 9);
const SCRYPT: Scrypt = { kind: 'scrypt', log2Cost: 15, blockSize: 8, parallelism: 1, salt: Buffer.alloc(16, 3) };
const SECRETS = new Map([
  ['github', 'ghp_canary'],
  ['name with ünïcode', '\ud800 lone surrogate'],
  ['__proto__', 'not a prototype'],
]);

const sealed = (): Buffer => sealEnvelope(SECRETS, SCRYPT, KEY, NONCE)!;

function open(bytes: Buffer, key = KEY) {
  const envelope = parseEnvelope(bytes);
  return 'problem' in envelope ? envelope.problem : openEnvelope(envelope, key);
}

/** Encrypts a text as the layout without a header does. */
function withoutHeader(text: string, password: string): Buffer {
  const key = createHash('sha256').update(password).digest();
  const cipher = createCipheriv('aes-256-gcm', key, NONCE);
  return Buffer.concat([NONCE, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

describe('the file of encrypted secrets', () => {
  it('opens with its key and has the parameters of the key in its header', () => {
    expect(open(sealed())).toEqual(SECRETS);
    expect((parseEnvelope(sealed()) as SecretsEnvelope).derivation).toEqual(SCRYPT);
  });

  it('holds no secret in clear', () => {
    expect(sealed().includes('canary')).toBe(false);
    expect(sealed().includes('github')).toBe(false);
  });

  it('does not open with another key', () => {
    expect(open(sealed(), createSecretKey(Buffer.alloc(32, 8)))).toBeUndefined();
  });

  it('does not open when any byte has changed, those of the header included', () => {
    const bytes = sealed();
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= 1;
      expect(open(changed), `byte ${String(index)}`).not.toBeInstanceOf(Map);
    }
  });

  it('does not open when its end is missing', () => {
    const bytes = sealed();
    for (let length = 0; length < bytes.length; length += 1) {
      expect(open(bytes.subarray(0, length)), `${String(length)} bytes`).not.toBeInstanceOf(Map);
    }
  });

  it('reads the layout without a header, whose key is the hash of the password', () => {
    const bytes = withoutHeader('{"secrets":{"github":"ghp_canary"}}', 'pass');
    const key = createSecretKey(createHash('sha256').update('pass').digest());
    expect(parseEnvelope(bytes)).toMatchObject({ derivation: { kind: 'sha256' } });
    expect(open(bytes, key)).toEqual(new Map([['github', 'ghp_canary']]));
  });

  it.each(['not JSON', '[]', '{}', '{"secrets":null}', '{"secrets":{"github":1}}'])(
    'does not open when its content is %s',
    (text) => {
      const key = createSecretKey(createHash('sha256').update('pass').digest());
      expect(open(withoutHeader(text, 'pass'), key)).toBeUndefined();
    },
  );

  it.each([
    ['version', 8, 2],
    ['derivation', 9, 2],
  ])('rejects another %s and says that another version wrote the file', (_what, index, value) => {
    const bytes = sealed();
    bytes[index] = value;
    expect(open(bytes)).toBe('was written by another version of vmcp: use that version');
  });

  it.each([
    ['cost of zero', [0, 8, 1]],
    ['cost that needs too much memory', [30, 8, 1]],
    ['block size of zero', [15, 0, 1]],
    ['block size that needs too much memory', [15, 255, 1]],
    ['parallelism of zero', [15, 8, 0]],
    ['parallelism that needs too much time', [15, 8, 255]],
  ])('rejects a header with a %s before a key is derived', (_what, parameters) => {
    const bytes = sealed();
    bytes.set(parameters, 10);
    expect(open(bytes)).toMatch(/^is damaged/);
  });

  it('holds 32 MiB at most', () => {
    const room = 32 * 1024 * 1024 - '{"secrets":{"big":""}}'.length;
    expect(sealEnvelope(new Map([['big', 'x'.repeat(room + 1)]]), SCRYPT, KEY, NONCE)).toBeUndefined();
  });
});
