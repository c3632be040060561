import { describe, expect, it } from 'vitest';
import { capture, redactJson } from './redact-json.ts';
import { settingsOf } from './settings.ts';

const CANARY = 'canary-7f3a91c0';

describe('redactJson', () => {
  it.each([
    ['a value', '{"password":"x y"}', '{"password":"[redacted]"}'],
    ['a name that contains a word', '{"X-Api-Key": 7, "a": 1}', '{"X-Api-Key":"[redacted]","a":1}'],
    [
      'an object and a list',
      '{"secrets":{"a":[1]},"tokens":[{"b":"]"}],"c":2}',
      '{"secrets":"[redacted]","tokens":"[redacted]","c":2}',
    ],
    ['a nested value', '{"a":[{"cookie":"x"}]}', '{"a":[{"cookie":"[redacted]"}]}'],
    ['an escaped name', String.raw`{"pass\u0077ord":"x"}`, String.raw`{"pass\u0077ord":"[redacted]"}`],
    [
      'a name without a secret',
      '{"authority":true,"n":-1.5e3,"e":{},"l":[]}',
      '{"authority":true,"n":-1.5e3,"e":{},"l":[]}',
    ],
    ['a bearer token in a text', '{"a":"use Bearer abcdefgh12345678 now"}', '{"a":"use [redacted] now"}'],
    ['a query', '{"u":"https://h/p?api_key=abc&x=1"}', '{"u":"https://h/p?api_key=[redacted]&x=1"}'],
    [
      'JSON in a text',
      String.raw`{"text":"{\"api_key\": \"abc\", \"b\": 1}"}`,
      String.raw`{"text":"{\"api_key\": \"[redacted]\", \"b\": 1}"}`,
    ],
    ['a text that only begins like JSON', '{"a":"[note] two  words"}', '{"a":"[note] two  words"}'],
    [
      'JSON behind another text',
      String.raw`{"e":"error: {\"password\":\"x\"} end"}`,
      String.raw`{"e":"error: {\"password\":\"[redacted]\"} end"}`,
    ],
    ['a password in a URL', '{"u":"https://me:x@h/p"}', '{"u":"https://[redacted]@h/p"}'],
    ['a password in a URL that is a name', '{"https://me:x@h/p":1}', '{"https://[redacted]@h/p":1}'],
    [
      'a member that a sibling names',
      '{"env":[{"name":"DB_PASSWORD","value":"x"},{"name":"A","value":"b"}]}',
      '{"env":[{"name":"DB_PASSWORD","value":"[redacted]"},{"name":"A","value":"b"}]}',
    ],
    [
      'an argument behind its option and the value of a header in a list',
      '[["-v","--api-key","x","y"],["X-Api-Key",["x"]],["a","b"]]',
      '[["-v","--api-key","[redacted]","y"],["X-Api-Key","[redacted]"],["a","b"]]',
    ],
    ['line breaks between tokens', '{\n "a" :\t[ 1 , 2 ]\r\n}', '{"a":[1,2]}'],
  ])('handles %s', (_what, text, expected) => {
    expect(redactJson(text)).toBe(expected);
  });

  it.each([
    ['in the value', '{"a":1,"password":"secr', '{"a":1,"password":"[redacted]"'],
    ['in a nested value', '{"credentials":{"a":["b', '{"credentials":"[redacted]"'],
    ['in another string', '{"a":"text \\', '{"a":"text '],
    ['in a short start of a token', '{"a":"Bearer abc', '{"a":"[redacted]'],
    ['in a name', '{"a":1,"passwo', '{"a":1,"passwo'],
    ['in the password of a URL', '{"a":"see https://me:secr', '{"a":"see https://[redacted]'],
    ['in the password of a URL that is a name', '{"https://me:secr', '{"https://[redacted]'],
    [
      'in JSON behind another text',
      String.raw`{"a":"error: {\"token\":\"secr`,
      String.raw`{"a":"error: {\"token\":\"[redacted]`,
    ],
  ])('keeps a text open that was cut %s', (_what, text, expected) => {
    expect(redactJson(text)).toBe(expected);
  });

  it('takes linear time', () => {
    const text = `{"a":${'['.repeat(100_000)}"${'\\"'.repeat(200_000)} bearer ${'eyJ'.repeat(50_000)}?a=${'&b'.repeat(50_000)}`;
    const start = process.threadCpuUsage();
    redactJson(text);
    expect(process.threadCpuUsage(start).user / 1_000).toBeLessThan(2_000);
  });
});

/** Returns numbers in [0, 1) that depend on the seed only (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const SECRET_NAMES = [
  'password',
  'accessToken',
  'client_secret',
  'Authorization',
  'api_key',
  'apiKey',
  'Set-Cookie',
  'private key',
];
const HARMLESS = ['text', 'ü€😀', 'a"b\\c', 'city'];

/** Returns a JSON value in which every secret contains the canary, under a name or in a text of a known shape. */
function valueOf(random: () => number, depth: number): unknown {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  if (depth === 0 || random() < 0.2)
    return pick([
      1,
      null,
      true,
      'ünïcode 😀 text',
      `Bearer ${CANARY}`,
      `x?token=${CANARY}`,
      `see https://u:${CANARY}@h/p`,
      `error: {"a":[{"api_key":"x\\" ${CANARY}"}]} end`,
      `user: a\npassword: ${CANARY}\nb: c`,
    ]);
  if (random() < 0.3) return Array.from({ length: 3 }, () => valueOf(random, depth - 1));
  if (random() < 0.2) return JSON.stringify(valueOf(random, depth - 1));
  const members = Array.from({ length: 4 }, () => {
    if (random() < 0.5) return [pick(HARMLESS), valueOf(random, depth - 1)] as const;
    return [pick(SECRET_NAMES), pick<unknown>([CANARY, { deep: [CANARY] }, [CANARY, 1], `a "${CANARY}"`])] as const;
  });
  return Object.fromEntries(members);
}

describe('capture', () => {
  it('never writes a secret, wherever the text is cut', () => {
    let redacted = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const value = valueOf(randomOf(seed), 4);
      const json = Buffer.from(JSON.stringify(value, undefined, seed % 2));
      for (let size = 0; size <= json.length; size += 1) {
        const { json: text, truncated } = capture(json, size);
        if (text.includes('canary')) throw new Error(`seed ${String(seed)}, ${String(size)} bytes: ${text}`);
        if (text.includes('[redacted]')) redacted += 1;
        expect(truncated).toBe(size < json.length);
        expect(text).not.toContain('\n');
        JSON.parse(text);
      }
    }
    expect(redacted).toBeGreaterThan(1_000);
  });

  it('cuts at a character, and at most at the given number of bytes', () => {
    const json = Buffer.from('{"a":"ü€😀"}');
    const texts = Array.from({ length: json.length + 1 }, (_, size) => capture(json, size).json);
    const start = '{"a":"';
    const cut = [start, start, `${start}ü`, `${start}ü`, `${start}ü`, `${start}ü€`];
    expect(texts.slice(6, 12).map((text) => JSON.parse(text) as unknown)).toEqual(cut);
    expect(texts.join('')).not.toContain('\ufffd');
    expect(texts.at(-1)).toBe('{"a":"ü€😀"}');
  });

  it('costs no more for a request of 900,000 names than for 256 KiB, whatever the settings allow', () => {
    const names = Array.from({ length: 900_000 }, (_, index) => [`n${String(index)}`, 1]);
    const json = Buffer.from(JSON.stringify(Object.fromEntries(names)));
    const settings = settingsOf({ maxDataSize: 1e9 }, { vmcp: { incoming: {} } });
    const start = process.threadCpuUsage();
    const { json: text, truncated } = capture(json, settings?.maxDataSize ?? 0);
    expect(process.threadCpuUsage(start).user / 1_000).toBeLessThan(250);
    expect(truncated).toBe(true);
    expect((JSON.parse(text) as string).length).toBe(256 * 1_024);
  });
});
