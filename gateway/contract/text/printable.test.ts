import { describe, expect, it } from 'vitest';
import { escapeInvisible, hasInvisible, jsonText, printable } from './printable.ts';

const range = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at));

describe('rows 106 and 107: invisible characters', () => {
  it.each<[string, readonly string[]]>([
    ['controls of C0', range(0x00, 0x1f)],
    ['DEL and controls of C1', range(0x7f, 0x9f)],
    ['bidirectional controls', ['\u061C', '\u200E', '\u200F', ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)]],
    ['separators', ['\u2028', '\u2029']],
    [
      'invisible letters',
      ['\u00AD', '\u034F', '\u115F', '\u180E', '\u200B', '\u3164', '\uFEFF', ...range(0x2060, 0x206f)],
    ],
    ['tags', range(0xe0001, 0xe007f)],
    ['lone surrogates', ['\uD800', '\uDFFF']],
  ])('are replaced in text and escaped in JSON: %s', (_, characters) => {
    for (const character of characters) {
      const code = character.codePointAt(0)?.toString(16);
      expect(printable(`a${character}b`), code).toBe('a\uFFFDb');
      expect(hasInvisible(`a${character}b`), code).toBe(true);
      const json = jsonText({ text: character });
      expect(json, code).toMatch(/^[\u0020-\u007E]+$/u);
      expect(JSON.parse(json), code).toEqual({ text: character });
    }
  });

  it.each([
    'plain',
    'Größe',
    'Ελλάδα',
    '日本語',
    'עברית',
    'العربية',
    'می\u200Cخواهم',
    'क्\u200Dष',
    '👩\u200D👩\u200D👧',
    '👍🏽\u200D',
    '❤\uFE0F\u200D🔥',
    '\u06DD',
    'e\u0301',
  ])('are not found in %s', (text) => {
    expect([printable(text), escapeInvisible(text), hasInvisible(text)]).toEqual([text, text, false]);
  });

  it.each(['pay\u200Dpal', '\u200Cab', '\u200D', 'a\u200D\u200C'])('include joiners that join nothing: %j', (text) => {
    expect(printable(text)).not.toMatch(/[\u200C\u200D]/u);
  });

  it('are escapes in other text, except tabs and line feeds', () => {
    expect(escapeInvisible('a\tb\nc\rd\u001B[1m\u202E\u{E0041}')).toBe(
      String.raw`a${'\t'}b${'\n'}c\u000dd\u001b[1m\u202e\udb40\udc41`,
    );
  });

  it('leave the layout of JSON as it is', () => {
    const value = { list: [1, { deep: 'ü' }], text: 'two\nlines' };
    expect(jsonText(value, 2)).toBe(JSON.stringify(value, null, 2));
    expect(jsonText(value)).toBe(JSON.stringify(value));
  });
});
