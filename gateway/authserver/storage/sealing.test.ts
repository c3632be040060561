import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSealer } from './sealing.ts';

const [first, second] = [randomBytes(32), randomBytes(32)];
const sealerOf = (...secrets: readonly Uint8Array[]) => createSealer(() => secrets);

it('opens what it sealed, and never returns the same sealed text twice', () => {
  const sealer = sealerOf(first);
  const [one, two] = [sealer.seal('up:1', 'token \u{1f511}'), sealer.seal('up:1', 'token \u{1f511}')];
  expect(one).not.toBe(two);
  expect(one).toMatch(/^[\w-]{8}\.[\w-]+$/u);
  expect(one).not.toContain('token');
  expect(sealer.open('up:1', one)).toBe('token \u{1f511}');
  expect(sealer.open('up:1', sealer.seal('up:1', ''))).toBe('');
});

describe('does not open', () => {
  const sealed = sealerOf(first).seal('up:1', 'token');
  const body = Buffer.from(sealed.slice(sealed.indexOf('.') + 1), 'base64url');
  const flipped = (index: number): string => {
    const copy = Buffer.from(body);
    copy.writeUInt8((copy[index] ?? 0) ^ 1, index);
    return `${sealed.slice(0, 9)}${copy.toString('base64url')}`;
  };
  it.each([
    ['text that was moved to another key', 'up:2', sealed],
    ['a changed nonce', 'up:1', flipped(0)],
    ['a changed text', 'up:1', flipped(13)],
    ['a changed tag', 'up:1', flipped(body.length - 1)],
    ['a truncated text', 'up:1', sealed.slice(0, -4)],
    ['a text that is too short', 'up:1', sealed.slice(0, 12)],
    ['no text', 'up:1', ''],
    ['a text that is not sealed', 'up:1', '{"accessToken":"gho_1"}'],
    ['another key id', 'up:1', `AAAAAAAA${sealed.slice(8)}`],
  ])('%s', (_, key, text) => {
    expect(sealerOf(first).open(key, text)).toBeUndefined();
  });

  it('text that a removed secret sealed', () => {
    expect(sealerOf(second).open('up:1', sealed)).toBeUndefined();
  });
});

it('seals with the current secret and opens with older ones after a rotation', () => {
  let ring = [first];
  const sealer = createSealer(() => ring);
  const old = sealer.seal('up:1', 'token');
  ring = [second, first];
  expect(sealer.open('up:1', old)).toBe('token');
  const fresh = sealer.seal('up:1', 'token');
  expect(sealerOf(second).open('up:1', fresh)).toBe('token');
  ring = [second];
  expect(sealer.open('up:1', old)).toBeUndefined();
  expect(sealer.open('up:1', fresh)).toBe('token');
});

it('throws when there is no secret', () => {
  expect(() => sealerOf().seal('up:1', 'token')).toThrow('no secret');
});
