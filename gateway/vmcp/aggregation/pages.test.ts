import { describe, expect, it } from 'vitest';
import { aggregate } from './aggregate.ts';
import { listPage, PAGE_SIZE } from './pages.ts';
import { catalog, rules, type Offer } from './testdata/catalogs.ts';
import type { ListKind, View } from './view.ts';

const view = (offer: Offer, unavailable: readonly string[] = []): View =>
  aggregate([catalog('a', offer)], rules({ conflict_resolution: 'none' }), unavailable).view;

interface Result {
  readonly tools?: { name: string }[];
  readonly nextCursor?: string;
}

function page(from: View, kind: ListKind, cursor?: string): Result {
  const result = listPage(from, kind, cursor);
  if (!Buffer.isBuffer(result)) throw new Error(result.message);
  return JSON.parse(result.toString()) as Result;
}

/** Reads all pages; each page may be of another view. */
function pages(viewOf: (index: number) => View): { sizes: number[]; names: string[]; cursors: string[] } {
  const all = { sizes: [] as number[], names: [] as string[], cursors: [] as string[] };
  for (let cursor: string | undefined, index = 0; index === 0 || cursor !== undefined; index += 1) {
    const { tools = [], nextCursor } = page(viewOf(index), 'tools', cursor);
    all.sizes.push(tools.length);
    all.names.push(...tools.map((tool) => tool.name));
    if (nextCursor !== undefined) all.cursors.push(nextCursor);
    cursor = nextCursor;
  }
  return all;
}

const numbered = (count: number, prefix = 't'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(5, '0')}`);

describe('listPage', () => {
  it.each<[ListKind, Offer, string]>([
    ['tools', {}, '{"tools":[]}'],
    ['tools', { tools: [{ name: 'b' }, { name: 'a' }] }, '{"tools":[{"name":"a"},{"name":"b"}]}'],
    ['resources', { resources: [{ uri: 'x:1' }] }, '{"resources":[{"uri":"x:1"}]}'],
    ['templates', { templates: [{ uriTemplate: 'x:{y}' }] }, '{"resourceTemplates":[{"uriTemplate":"x:{y}"}]}'],
    ['prompts', { prompts: [{ name: 'p' }] }, '{"prompts":[{"name":"p"}]}'],
  ])('returns the %s of %j', (kind, offer, expected) => {
    expect(listPage(view(offer), kind)).toEqual(Buffer.from(expected));
  });

  it('returns the same buffer for the first page every time', () => {
    const one = view({ tools: ['a'] });
    expect(listPage(one, 'tools')).toBe(listPage(one, 'tools'));
  });

  it('names unavailable backends on every page, sorted and once', () => {
    const one = view({ tools: numbered(PAGE_SIZE + 1) }, ['z', 'b', 'z']);
    const meta = { 'vmcp.dev/unavailableBackends': ['b', 'z'] };
    const first = page(one, 'tools');
    expect(first).toMatchObject({ _meta: meta });
    expect(page(one, 'tools', first.nextCursor)).toMatchObject({ _meta: meta });
    expect(page(one, 'prompts')).toEqual({ prompts: [], _meta: meta });
  });

  it.each([
    [0, [0]],
    [1, [1]],
    [PAGE_SIZE, [PAGE_SIZE]],
    [PAGE_SIZE + 1, [PAGE_SIZE, 1]],
    [3 * PAGE_SIZE, [PAGE_SIZE, PAGE_SIZE, PAGE_SIZE]],
    [2500, [PAGE_SIZE, PAGE_SIZE, 500]],
  ])('returns %i items on pages of %j', (count, sizes) => {
    const one = view({ tools: numbered(count) });
    const all = pages(() => one);
    expect(all.sizes).toEqual(sizes);
    expect(all.names).toEqual(numbered(count));
  });

  it.each([
    ['long keys that differ at the end', numbered(2500, `https://example.org/${'long/'.repeat(300)}`)],
    ['keys beyond ASCII', numbered(2500, 'ü€😀\u0001"\\'.repeat(60))],
    ['keys with lone surrogates', numbered(2500, '\ud800'.repeat(90))],
  ])('limits every cursor to 512 characters: %s', (_, keys) => {
    const one = view({ tools: keys });
    const all = pages(() => one);
    expect(all.names).toEqual(keys);
    expect(Math.max(...all.cursors.map((cursor) => cursor.length))).toBeLessThanOrEqual(512);
  });

  it('continues after the last key when the list changes between pages', () => {
    const before = view({ tools: numbered(2500) });
    const after = view({ tools: [...numbered(2500).filter((name) => name !== 't00999'), 'a', 't01000a'] });
    const all = pages((index) => (index === 0 ? before : after));
    expect(all.names).toEqual([...numbered(1001), 't01000a', ...numbered(2500).slice(1001)]);
  });

  it('ends when all items after the cursor were removed', () => {
    const { nextCursor } = page(view({ tools: numbered(1500) }), 'tools');
    expect(page(view({ tools: ['a'] }), 'tools', nextCursor)).toEqual({ tools: [] });
  });

  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  it.each([
    ['empty', ''],
    ['not base64url', '{}'],
    ['padded', `${encode({ k: 'tools', l: 'aaa', d: 'x' })}=`],
    ['not JSON', Buffer.from('tools').toString('base64url')],
    ['null', encode(null)],
    ['a number', encode(7)],
    ['an array', encode(['tools'])],
    ['of another kind', encode({ k: 'prompts', l: 'a', d: 'x' })],
    ['without a key', encode({ k: 'tools', d: 'x' })],
    ['without a digest', encode({ k: 'tools', l: 'a' })],
    ['with a key of another type', encode({ k: 'tools', l: 7, d: 'x' })],
    ['with a count of another type', encode({ k: 'tools', l: 'a', d: 'x', n: '1' })],
    ['with a negative count', encode({ k: 'tools', l: 'a', d: 'x', n: -1 })],
    ['with a broken count', encode({ k: 'tools', l: 'a', d: 'x', n: 0.5 })],
    ['too long', encode({ k: 'tools', l: 'a'.repeat(400), d: 'x' })],
  ])('rejects a cursor that is %s', (_, cursor) => {
    expect(listPage(view({ tools: ['a', 'b'] }), 'tools', cursor)).toMatchObject({ reason: 'BadCursor' });
  });

  it('treats a count beyond the end as the end', () => {
    const cursor = encode({ k: 'tools', l: 'a', d: 'x', n: Number.MAX_SAFE_INTEGER });
    expect(page(view({ tools: ['a', 'b'] }), 'tools', cursor)).toEqual({ tools: [] });
  });
});

describe('digest', () => {
  const digests = (...offers: Offer[]): string[] => offers.map((offer) => view(offer).lists.tools.digest);

  it('is equal for equal lists only', () => {
    const [one, same, order, ...others] = digests(
      { tools: ['a', 'b'], prompts: ['p'] },
      { tools: ['a', 'b'] },
      { tools: ['b', 'a'] },
      {},
      { tools: ['a'] },
      { tools: ['a', 'c'] },
      { tools: ['a', { name: 'b', description: 'new' }] },
    );
    expect([same, order]).toEqual([one, one]);
    expect(new Set([one, ...others]).size).toBe(5);
    expect(one).toMatch(/^[0-9a-f]{16}$/);
  });
});
