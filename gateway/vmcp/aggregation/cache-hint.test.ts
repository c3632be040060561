import { expect, it } from 'vitest';
import { privateReply, readCacheHint, strictest } from './cache-hint.ts';

it.each([
  [
    { ttlMs: 5, cacheScope: 'public' },
    { ttlMs: 5, cacheScope: 'public' },
  ],
  [
    { ttlMs: -1, cacheScope: 'public' },
    { ttlMs: 0, cacheScope: 'private' },
  ],
  [
    { ttlMs: 5, cacheScope: 'all' },
    { ttlMs: 0, cacheScope: 'private' },
  ],
  [{ tools: [] }, { ttlMs: 0, cacheScope: 'private' }],
])('reads %j', (result, hint) => {
  expect(readCacheHint(Buffer.from(JSON.stringify(result)))).toEqual(hint);
});

it('passes on the strictest hint, for at most 30 s', () => {
  const long = { ttlMs: 3_600_000, cacheScope: 'public' } as const;
  expect(strictest([long])).toEqual({ ttlMs: 30_000, cacheScope: 'public' });
  expect(strictest([long, { ttlMs: 10, cacheScope: 'private' }])).toEqual({ ttlMs: 10, cacheScope: 'private' });
  expect(strictest([])).toEqual({ ttlMs: 0, cacheScope: 'private' });
});

it.each([
  ['{"contents":[],"ttlMs":5,"cacheScope":"public"}', '{"contents":[],"ttlMs":5,"cacheScope":"private"}'],
  ['{"cacheScope" : "private","n":1.0}', '{"cacheScope" : "private","n":1.0}'],
  ['{"contents":[{"cacheScope":"public"}]}', '{"contents":[{"cacheScope":"public"}]}'],
  ['{"contents":[]}', '{"contents":[]}'],
])('makes the result %s private', (result, expected) => {
  const reply = (text: string): string => `{"jsonrpc":"2.0","id":1,"result":${text}}`;
  expect(privateReply(Buffer.from(reply(result))).toString()).toBe(reply(expected));
});
