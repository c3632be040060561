import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  fingerprintOf,
  hasTag,
  isGenuine,
  issueToken,
  storageKeyOf,
  tagOf,
  type SecretRing,
  type TagPurpose,
  type TokenPurpose,
} from './opaque-token.ts';

const secret = (byte: number): Uint8Array => new Uint8Array(32).map((_, index) => byte + index);
const OLD = secret(1);
const NEW = secret(99);
const RING: SecretRing = [OLD];
const RANDOM = secret(7);

const TOKENS: readonly TokenPurpose[] = ['code', 'refresh', 'cookie'];
const TAGS: readonly TagPurpose[] = ['csrf', 'consent'];

const issue = (purpose: TokenPurpose, ring = RING, random: Uint8Array = RANDOM): string =>
  issueToken(purpose, random, ring).reveal();

describe('an opaque token', () => {
  it.each([
    ['code', /^vac_[\w-]{43}\.[\w-]{43}$/],
    ['refresh', /^vrt_[\w-]{43}\.[\w-]{43}$/],
    ['cookie', /^vck_[\w-]{43}\.[\w-]{43}$/],
  ] as const)('of purpose %s has the form %s', (purpose, form) => {
    expect(issue(purpose)).toMatch(form);
    expect(isGenuine(purpose, issue(purpose), RING)).toBe(true);
  });

  it('contains the HMAC-SHA256 of prefix and random part, with a key derived for the purpose (RFC 5869)', () => {
    const body = `vrt_${Buffer.from(RANDOM).toString('base64url')}`;
    const key = Buffer.from(hkdfSync('sha256', OLD, '', 'refresh', 32));
    expect(issue('refresh')).toBe(`${body}.${createHmac('sha256', key).update(body).digest('base64url')}`);
  });

  it('is not printed', () => {
    const token = issueToken('code', RANDOM, RING);
    expect([String(token), JSON.stringify(token), inspect({ token })].join()).not.toContain(
      token.reveal().slice(4, 20),
    );
  });

  it.each(TOKENS)('of purpose %s is rejected for other purposes, even with their prefix', (purpose) => {
    const token = issue(purpose);
    for (const other of TOKENS.filter((candidate) => candidate !== purpose)) {
      expect(isGenuine(other, token, RING)).toBe(false);
      expect(isGenuine(other, issue(other).slice(0, 4) + token.slice(4), RING)).toBe(false);
    }
  });

  it('is rejected when one character is changed, added or removed', () => {
    const token = issue('code');
    for (let index = 0; index < token.length; index += 1) {
      for (const put of ['A', 'B', '.', 'é', '']) {
        const forged = token.slice(0, index) + put + token.slice(index + 1);
        if (forged !== token) expect(isGenuine('code', forged, RING), forged).toBe(false);
      }
    }
    for (const forged of ['', 'vac_', `${token}A`, `${token}=`, ` ${token}`, `${token}\n`, token.toUpperCase()]) {
      expect(isGenuine('code', forged, RING)).toBe(false);
    }
  });

  it('is rejected in a second base64url spelling of the same bytes', () => {
    const token = issue('code');
    const last = token.at(-1) ?? '';
    const spellings = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_').filter((put) => {
      const tag = token.slice(-43, -1) + put;
      return put !== last && Buffer.from(tag, 'base64url').equals(Buffer.from(token.slice(-43), 'base64url'));
    });
    expect(spellings).toHaveLength(3);
    for (const put of spellings) expect(isGenuine('code', token.slice(0, -1) + put, RING)).toBe(false);
  });

  it('is rejected after all secrets are replaced', () => {
    for (const purpose of TOKENS) expect(isGenuine(purpose, issue(purpose), [NEW])).toBe(false);
  });

  it('of an older secret is accepted while that secret is configured; new ones use the current secret', () => {
    const rotated: SecretRing = [NEW, OLD];
    expect(isGenuine('refresh', issue('refresh'), rotated)).toBe(true);
    expect(issue('refresh', rotated)).toBe(issue('refresh', [NEW]));
    expect(isGenuine('refresh', issue('refresh', rotated), RING)).toBe(false);
    expect(isGenuine('refresh', issue('refresh'), [NEW])).toBe(false);
  });

  it.each([0, 16, 31, 33])('is not created from %i random bytes', (length) => {
    expect(() => issue('code', RING, new Uint8Array(length))).toThrow(RangeError);
  });

  it('is stored and logged by its hash', () => {
    const [one, two] = [issue('code', RING, randomBytes(32)), issue('code', RING, randomBytes(32))];
    expect(storageKeyOf('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(storageKeyOf(one)).not.toBe(storageKeyOf(two));
    expect(fingerprintOf('abc')).toBe('ba7816bf');
  });
});

describe('a tag', () => {
  it.each(TAGS)('of purpose %s is valid for its text and purpose only', (purpose) => {
    const tag = tagOf(purpose, 'attempt:1', RING);
    expect(hasTag(purpose, 'attempt:1', tag, RING)).toBe(true);
    expect(hasTag(purpose, 'attempt:1', tag, [NEW, OLD])).toBe(true);
    expect(hasTag(purpose, 'attempt:1', tag, [NEW])).toBe(false);
    expect(hasTag(purpose, 'attempt:2', tag, RING)).toBe(false);
    for (const other of TAGS.filter((candidate) => candidate !== purpose))
      expect(hasTag(other, 'attempt:1', tag, RING)).toBe(false);
    for (const forged of ['', tag.slice(1), `${tag}A`, 'é'.repeat(43), 'A'.repeat(43)])
      expect(hasTag(purpose, 'attempt:1', forged, RING)).toBe(false);
  });
});
