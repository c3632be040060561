import { describe, expect, it } from 'vitest';
import { isHidden, parseIgnoreFile } from './overlays.ts';

const hides = (lines: string, path: string): boolean =>
  isHidden(parseIgnoreFile(lines), path.replace(/\/$/u, '').split('/'), path.endsWith('/'));

describe('an ignore file', () => {
  it.each([
    ['.env', '.env'],
    ['.env', 'a/b/.env'],
    ['.env*', '.env.local'],
    ['*.key', 'a/x.key'],
    ['secrets/', 'a/secrets/'],
    ['/secrets', 'secrets/'],
    ['a/b', 'a/b'],
    ['a/*/c', 'a/b/c'],
    ['a/**/d', 'a/b/c/d'],
    ['a/**/d', 'a/d'],
    ['**/x/y', 'a/x/y'],
    ['a/**', 'a/b/c'],
    ['a/**', 'a/b'],
    ['id_?sa', 'id_rsa'],
    ['[a-c]x', 'bx'],
    ['[!a-c]x', 'dx'],
    ['[]x]', ']'],
    ['[x', '[x'],
    ['\\#a', '#a'],
    ['\\!a', '!a'],
    ['\\*', '*'],
    ['a\\ ', 'a '],
    ['# comment\r\nx  \r\n', 'x'],
    ['\uFEFFx', 'x'],
    ['*.log\n!keep.log', 'other.log'],
    ['naïve 😀?', 'naïve 😀x'],
  ])('with %j hides %s', (lines, path) => {
    expect(hides(lines, path)).toBe(true);
  });

  it.each([
    ['.env', 'env'],
    ['.env', '.envs'],
    ['secrets/', 'secrets'],
    ['/x', 'a/x'],
    ['a/b', 'c/a/b'],
    ['a/*', 'a/b/c'],
    ['a/**', 'a/'],
    ['*.key', 'key'],
    ['?', 'ab'],
    ['[!a]', 'a'],
    ['\\*', 'a'],
    ['#x', '#x'],
    ['*.log\n!keep.log', 'keep.log'],
    ['', 'a'],
    ['/', 'a/'],
    ['!a', 'a'],
  ])('with %j does not hide %s', (lines, path) => {
    expect(hides(lines, path)).toBe(false);
  });

  it('with many wildcards takes no longer than the product of the lengths', () => {
    const started = performance.now();
    expect(hides(`${'*a'.repeat(60)}b`, 'a'.repeat(255))).toBe(false);
    expect(hides(`${'**/a/'.repeat(40)}b`, 'a/'.repeat(200))).toBe(false);
    parseIgnoreFile(`${'['.repeat(60_000)}\n`);
    expect(performance.now() - started).toBeLessThan(500);
  });
});
