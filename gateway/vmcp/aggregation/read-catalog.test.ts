import { describe, expect, it } from 'vitest';
import { nextCursor, readItems } from './read-catalog.ts';
import { itemsOf } from './testdata/catalogs.ts';
import type { ListKind } from './view.ts';

const page = (text: string): Buffer => Buffer.from(text);
const read = (kind: ListKind, ...pages: string[]) => itemsOf('a', kind, pages.map(page));
const keys = (kind: ListKind, ...pages: string[]) => read(kind, ...pages).items.map((item) => item.key);

/** Member that clients demand. */
const SCHEMA = '"inputSchema":{"type":"object"}';

describe('readItems', () => {
  it('reads every kind over all pages, in order', () => {
    expect(keys('tools', '{"tools":[{"name":"b"}],"nextCursor":"x"}', ' { "tools" : [ {"name":"a"} ] } ')).toEqual([
      'b',
      'a',
    ]);
    expect(keys('resources', '{"resources":[{"uri":"x:1","name":"n"}]}')).toEqual(['x:1']);
    expect(keys('templates', '{"resourceTemplates":[{"uriTemplate":"x:{y}"}]}')).toEqual(['x:{y}']);
    expect(keys('prompts', '{"prompts":[{"name":"p"}]}')).toEqual(['p']);
  });

  it('omits items without a name and keeps the rest', () => {
    const odd = 'null,7,"x",[],true,{},{"name":null},{"name":""},{"name":7},{"name":{}},{"Name":"c"}';
    const { items, warnings } = read('tools', `{"tools":[${odd},{"name":"ok",${SCHEMA}}]}`);
    expect(items.map(({ json }) => json.toString())).toEqual([`{"name":"ok",${SCHEMA}}`]);
    expect(warnings).toEqual([
      {
        reason: 'MalformedItem',
        backend: 'a',
        message: 'an item of the tools list of "a" without name is omitted (11 times)',
      },
    ]);
  });

  it.each(['null', '[]', '7', '{}', '{"tools":null}', '{"tools":{"name":"x"}}', '{"tools":"x"}'])(
    'omits the page %s and keeps the others',
    (odd) => {
      const { items, warnings } = read('tools', odd, `{"tools":[{"name":"a",${SCHEMA}}]}`);
      expect(items).toHaveLength(1);
      expect(warnings).toMatchObject([{ reason: 'MalformedList', backend: 'a' }]);
    },
  );

  it('keeps the first of equal names, even across pages and with escapes', () => {
    const { items, warnings } = read(
      'tools',
      `{"tools":[{"name":"a",${SCHEMA},"n":1},{"name":"\\u0061","n":2}]}`,
      '{"tools":[{"name":"a","n":3}]}',
    );
    expect(items.map(({ json }) => json.toString())).toEqual([`{"name":"a",${SCHEMA},"n":1}`]);
    expect(warnings).toEqual([
      {
        reason: 'DuplicateItem',
        backend: 'a',
        message: 'the tools list of "a" contains an item twice, the first one is served: "a", "a"',
      },
    ]);
  });

  it('reads the last of equal keys, as JSON.parse does', () => {
    expect(keys('tools', '{"tools":[],"tools":[{"name":"x","name":"y"}]}')).toEqual(['y']);
  });

  it('limits the warnings about a long hostile list and quotes no control character', () => {
    const list = Array.from({ length: 20_000 }, () => `{"name":"\\u001b[31m\\n",${SCHEMA}}`).join(',');
    const { items, warnings } = read('tools', `{"tools":[${list}]}`);
    expect(items).toHaveLength(1);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).toContain('and 19994 more');
    expect(warnings[0]?.message).not.toContain('\u001b');
    expect(warnings[0]?.message.length).toBeLessThan(300);
  });

  it('limits the warnings about schemas that are nested in many ways', () => {
    const keys = ['items', 'not', 'if', 'then', 'else', 'contains'];
    const nested = (depth: number): string[] =>
      depth === 0 ? ['{"title":null}'] : nested(depth - 1).flatMap((inner) => keys.map((key) => `{"${key}":${inner}}`));
    const tools = nested(3).map((schema, index) => `{"name":"t${String(index)}","inputSchema":${schema}}`);
    const { items, warnings } = read('tools', `{"tools":[${tools.join(',')}]}`);
    expect(items).toHaveLength(216);
    expect(warnings).toHaveLength(50);
  });

  it('pauses while it reads a long list, and leaves out an item over 512 KiB', () => {
    const tool = (name: string, length: number): string =>
      `{"name":"${name}",${SCHEMA},"description":"${'x'.repeat(length)}"}`;
    const long = page(
      `{"tools":[${[tool('a', 100_000), tool('b', 100_000), tool('c', 600_000), tool('d', 9)].join(',')}]}`,
    );
    const reading = readItems('a', 'tools', [long]);
    const turns = Array.from({ length: 3 }, () => reading.next());
    expect(turns.map(({ done }) => done)).toEqual([false, false, true]);
    const { items, warnings } = turns[2]?.value ?? { items: [], warnings: [] };
    expect(items.map(({ key }) => key)).toEqual(['a', 'b', 'd']);
    expect(warnings.map(({ message }) => message)).toEqual(['tools of "a" over 512 KiB are left out: "c"']);
  });

  it('does not keep the page in memory', () => {
    const big = page(`{"tools":[${'null,'.repeat(100_000)}{"name":"a"}]}`);
    const [item] = itemsOf('a', 'tools', [big]).items;
    expect(item?.json.buffer).not.toBe(big.buffer);
    expect(item?.json.buffer.byteLength).toBeLessThan(100_000);
  });

  it.each([
    ['1,024 bytes', `x:${'a'.repeat(1022)}`, true],
    ['1,025 bytes', `x:${'a'.repeat(1023)}`, false],
    ['1,026 bytes in fewer characters', `x:${'ä'.repeat(512)}`, false],
    ['8 variables', 'x:{a}{b,c,d}{/e}{?f,g,h}', true],
    ['9 variables', 'x:{a}{b,c,d}{/e}{?f,g,h,i}', false],
    ['prefixes of 256', 'x:{a:200}{b:56}', true],
    ['prefixes of 257', 'x:{a:200}{b:57}', false],
    ['a huge prefix', 'x:{a:9999}', false],
  ])('applies the size limits to a template with %s', (_, template, kept) => {
    const { items, warnings } = read(
      'templates',
      JSON.stringify({ resourceTemplates: [{ uriTemplate: template, name: 'n' }] }),
    );
    expect(items.map((item) => item.key)).toEqual(kept ? [template] : []);
    expect(warnings.map((warning) => warning.reason)).toEqual(kept ? [] : ['TemplateTooLarge']);
  });

  it('keeps an invalid RFC 6570 template, with a warning', () => {
    const { items, warnings } = read('templates', '{"resourceTemplates":[{"uriTemplate":"x:{a","name":"n"}]}');
    expect(items).toHaveLength(1);
    expect(warnings).toMatchObject([{ reason: 'TemplateUnmatchable' }]);
  });
});

describe('nextCursor', () => {
  it.each([
    ['{"tools":[],"nextCursor":"a\\u0062"}', 'ab'],
    ['{"tools":[]}', undefined],
    ['{"nextCursor":null}', undefined],
    ['{"nextCursor":""}', undefined],
    ['{"nextCursor":7}', undefined],
    ['[]', undefined],
  ])('reads the cursor of %s', (text, expected) => {
    expect(nextCursor(page(text), '2025-11-25')).toBe(expected);
  });

  it.each([
    ['{"nextCursor":""}', ''],
    ['{"nextCursor":"a"}', 'a'],
    ['{"nextCursor":null}', undefined],
    ['{}', undefined],
  ])('reads the cursor of %s in 2026-07-28, where it may be empty', (text, expected) => {
    expect(nextCursor(page(text), '2026-07-28')).toBe(expected);
  });
});
