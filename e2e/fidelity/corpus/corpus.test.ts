import { describe, expect, it } from 'vitest';
import { elementTexts, memberText } from '../raw-json.ts';
import { REPLIES } from './index.ts';
import { LIST_ITEMS } from './list-items.ts';

const items = Object.values(LIST_ITEMS).flat();

describe('the corpus', () => {
  it('has at least 60 replies and 30 list items, each under its own name', () => {
    expect(new Set(REPLIES.map(({ name }) => name)).size).toBe(REPLIES.length);
    expect(REPLIES.length).toBeGreaterThanOrEqual(60);
    expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
    expect(items.length).toBeGreaterThanOrEqual(30);
  });

  it('is JSON', () => {
    const texts = [
      ...REPLIES.map(({ json }) => json),
      ...items.map(({ item, key, keyText }) => item.replace('KEY', () => keyText ?? JSON.stringify(key))),
    ];
    for (const text of texts) expect(() => void JSON.parse(text), text.slice(0, 100)).not.toThrow();
  });

  it('has at least 35 replies that parsing and serialising would change', () => {
    const changed = REPLIES.filter(({ json }) => JSON.stringify(JSON.parse(json)) !== json);
    expect(changed.length).toBeGreaterThanOrEqual(35);
  });
});

describe('the raw JSON reader', () => {
  const text = String.raw` { "a" : "}\"" ,"b":[ "]", {"a":2} ,-0 ] , "c" : null, "":1.0}`;

  it.each([
    ['a', String.raw`"}\""`],
    ['b', '[ "]", {"a":2} ,-0 ]'],
    ['c', 'null'],
    ['', '1.0'],
    ['d', undefined],
  ])('finds the outermost member %j', (name, expected) => {
    expect(memberText(text, name)).toBe(expected);
  });

  it('cuts an array', () => {
    expect(elementTexts('[ "]", {"a":2} ,-0 ]')).toEqual(['"]"', '{"a":2}', '-0']);
    expect(elementTexts('[]')).toEqual([]);
  });
});
