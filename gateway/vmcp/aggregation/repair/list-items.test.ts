import { isSpecType } from '@modelcontextprotocol/client';
import * as newest from '@modelcontextprotocol/sdk/types.js';
import * as older from 'mcp-sdk-1.29/types.js';
import { describe, expect, it } from 'vitest';
import { olderTools } from '../older-tools.ts';
import { WIRE } from '../read-catalog.ts';
import { itemsOf } from '../testdata/catalogs.ts';
import type { ListKind } from '../view.ts';
import { repairItem } from './list-items.ts';

const SCHEMA = { type: 'object' };

/** Returns the text of an item, or undefined when it is left out, and the warnings. */
function readOne(kind: ListKind, item: object | string) {
  const text = typeof item === 'string' ? item : JSON.stringify(item);
  const page = Buffer.from(`{"${WIRE[kind].list}":[${text}]}`);
  const { items, warnings } = itemsOf('notes', kind, [page]);
  return { item: items[0] && (JSON.parse(items[0].json.toString()) as unknown), warnings };
}

const tool = (members: object): object => ({ name: 'search', inputSchema: SCHEMA, ...members });
const resource = (members: object): object => ({ uri: 'file:///a', name: 'a', ...members });
const template = (members: object): object => ({ uriTemplate: 'file:///{a}', name: 'a', ...members });
const prompt = (members: object): object => ({ name: 'ask', ...members });

describe('an item with an odd member is repaired:', () => {
  it.each<[string, ListKind, object, object, string]>([
    [
      'a description of null',
      'tools',
      tool({ description: null }),
      tool({}),
      '"description" of tools of "notes" is null',
    ],
    ['a title of null', 'tools', tool({ title: null }), tool({}), '"title" of tools of "notes" is null'],
    ['annotations of null', 'tools', tool({ annotations: null }), tool({}), '"annotations" of tools'],
    [
      'a hint of null',
      'tools',
      tool({ annotations: { readOnlyHint: null } }),
      tool({ annotations: {} }),
      'readOnlyHint',
    ],
    [
      'a hint as text',
      'tools',
      tool({ annotations: { title: 'T', openWorldHint: 'yes' } }),
      tool({ annotations: { title: 'T' } }),
      'is no boolean',
    ],
    ['icons of null', 'tools', tool({ icons: null }), tool({}), '"icons" of tools'],
    [
      'an icon without a source',
      'tools',
      tool({ icons: [{ theme: 'dark' }, { src: 'a' }] }),
      tool({ icons: [{ src: 'a' }] }),
      '"icons[].src" of tools of "notes" is missing, so "icons[]" is left out',
    ],
    [
      'sizes of null',
      'tools',
      tool({ icons: [{ src: 'a', sizes: null }] }),
      tool({ icons: [{ src: 'a' }] }),
      '"icons[].sizes"',
    ],
    ['metadata of null', 'tools', tool({ _meta: null }), tool({}), '"_meta" of tools'],
    [
      'metadata of PHP',
      'tools',
      tool({ _meta: [] }),
      tool({ _meta: {} }),
      '"_meta" of tools of "notes" is an empty list and becomes {}',
    ],
    ['an output schema of null', 'tools', tool({ outputSchema: null }), tool({}), '"outputSchema" of tools'],
    [
      'an output schema that does not compile',
      'tools',
      tool({ outputSchema: { type: 'object', properties: { a: { pattern: '(?P<x>a)' } } } }),
      tool({}),
      '"outputSchema" of tools of "notes" is no JSON Schema that clients can compile',
    ],
    ['an execution of null', 'tools', tool({ execution: null }), tool({}), '"execution" of tools'],
    [
      'no input schema',
      'tools',
      { name: 'search' },
      { name: 'search', inputSchema: SCHEMA },
      '"inputSchema" of tools of "notes" is missing and becomes {"type":"object"}: "search"',
    ],
    [
      'an input schema of null',
      'tools',
      tool({ inputSchema: null }),
      tool({}),
      '"inputSchema" of tools of "notes" is null and becomes {"type":"object"}',
    ],
    [
      'an input schema of PHP',
      'tools',
      tool({ inputSchema: [] }),
      tool({}),
      '"inputSchema" of tools of "notes" is an empty list',
    ],
    [
      'an input schema without a type',
      'tools',
      tool({ inputSchema: { properties: { a: {} } } }),
      tool({ inputSchema: { properties: { a: {} }, ...SCHEMA } }),
      '"inputSchema.type" of tools of "notes" is missing and becomes "object"',
    ],
    [
      'an input schema of zod 4 in the converter of zod 3',
      'tools',
      tool({ inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#' } }),
      tool({ inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', ...SCHEMA } }),
      '"inputSchema.type"',
    ],
    [
      'an input schema of objects and null',
      'tools',
      tool({ inputSchema: { type: ['object', 'null'] } }),
      tool({}),
      '"inputSchema.type" of tools of "notes" is not "object"',
    ],
    [
      'an input schema of a list',
      'tools',
      tool({ inputSchema: { type: 'array', properties: 'none' } }),
      tool({}),
      '"inputSchema.properties" of tools of "notes" is no object and is left out',
    ],
    [
      'null keywords of an input schema',
      'tools',
      tool({
        inputSchema: {
          ...SCHEMA,
          $defs: null,
          required: null,
          properties: { a: { type: 'string', enum: null, default: null }, b: null },
        },
      }),
      tool({ inputSchema: { ...SCHEMA, properties: { a: { type: 'string', default: null }, b: {} } } }),
      '"inputSchema.properties.*.enum"',
    ],
    [
      'boolean properties',
      'tools',
      tool({ inputSchema: { ...SCHEMA, properties: { a: true, b: false } } }),
      tool({ inputSchema: { ...SCHEMA, properties: { a: {}, b: { not: {} } } } }),
      '"inputSchema.properties.*" of tools of "notes" is no object',
    ],
    ['a type of content of null', 'resources', resource({ mimeType: null }), resource({}), '"mimeType" of resources'],
    ['a size of null', 'resources', resource({ size: null }), resource({}), '"size" of resources'],
    [
      'a size as text',
      'resources',
      resource({ size: '5' }),
      resource({}),
      '"size" of resources of "notes" is no number of bytes',
    ],
    [
      'no name',
      'resources',
      { uri: 'file:///a' },
      resource({ name: 'file:///a' }),
      '"name" of resources of "notes" is missing',
    ],
    [
      'a title and no name',
      'resources',
      { uri: 'file:///a', title: 'A', name: null },
      resource({ title: 'A', name: 'A' }),
      '"name" of resources of "notes" is null',
    ],
    [
      'an unknown audience',
      'resources',
      resource({ annotations: { audience: ['user', 'robot'] } }),
      resource({ annotations: { audience: ['user'] } }),
      '"annotations.audience[]"',
    ],
    [
      'a priority of 5',
      'resources',
      resource({ annotations: { priority: 5 } }),
      resource({ annotations: {} }),
      '"annotations.priority" of resources of "notes" is no number from 0 to 1',
    ],
    [
      'a time without offset',
      'resources',
      resource({ annotations: { lastModified: '2025-01-12T15:00:58' } }),
      resource({ annotations: {} }),
      '"annotations.lastModified"',
    ],
    [
      'a template of null members',
      'templates',
      template({ description: null, mimeType: null }),
      template({}),
      '"description" of resource templates',
    ],
    [
      'a template without a name',
      'templates',
      { uriTemplate: 'file:///{a}' },
      template({ name: 'file:///{a}' }),
      '"name" of resource templates',
    ],
    ['arguments of null', 'prompts', prompt({ arguments: null }), prompt({}), '"arguments" of prompts'],
    [
      'an argument of null members',
      'prompts',
      prompt({ arguments: [{ name: 'a', description: null, required: null }] }),
      prompt({ arguments: [{ name: 'a' }] }),
      '"arguments[].required" of prompts',
    ],
    [
      'an argument without a name',
      'prompts',
      prompt({ arguments: [{ description: 'd' }] }),
      prompt({ arguments: [] }),
      '"arguments[].name" of prompts of "notes" is missing, so "arguments[]" is left out',
    ],
    [
      'arguments of Lua',
      'prompts',
      prompt({ arguments: {} }),
      prompt({ arguments: [] }),
      '"arguments" of prompts of "notes" is an empty object and becomes []',
    ],
  ])('%s', (_, kind, given, expected, words) => {
    const { item, warnings } = readOne(kind, given);
    expect(item).toEqual(expected);
    expect(warnings.map(({ reason, backend }) => [reason, backend])).toContainEqual(['ItemRepaired', 'notes']);
    expect(warnings.map(({ message }) => message).join('\n')).toContain(words);
  });

  it('a text that ends within an emoji', () => {
    const { item, warnings } = readOne(
      'tools',
      String.raw`{"name":"a","inputSchema":{"type":"object"},"description":"\ud83d\ude42 \\ud83d \ud83d"}`,
    );
    expect(item).toMatchObject({ description: '🙂 \\ud83d \ufffd' });
    expect(warnings).toMatchObject([{ reason: 'ItemRepaired' }]);
  });

  it('and keeps all other bytes', () => {
    const { json } = repairItem(
      'tools',
      Buffer.from('{ "name":"a" , "n":1.0,"title":null, "inputSchema":{"type":"object" ,"x":1E2} }'),
    );
    expect(json?.toString()).toBe('{"name":"a","n":1.0,"inputSchema":{"type":"object" ,"x":1E2}}');
  });
});

describe('an item that cannot be repaired is left out:', () => {
  it.each<[string, ListKind, object, string]>([
    [
      'an input schema that is a number',
      'tools',
      tool({ inputSchema: 17 }),
      '"inputSchema" of tools of "notes" is no object, so they are left out: "search"',
    ],
    [
      'a URI without a scheme',
      'resources',
      resource({ uri: 'notes/a.md' }),
      '"uri" of resources of "notes" is no URI (RFC 3986), so they are left out: "notes/a.md"',
    ],
    ['a host with a space', 'resources', resource({ uri: 'note://My Note' }), '"uri" of resources'],
    ['a port that is a word', 'resources', resource({ uri: 'db://host:port/a' }), '"uri" of resources'],
  ])('%s', (_, kind, given, message) => {
    const { item, warnings } = readOne(kind, given);
    expect(item).toBeUndefined();
    expect(warnings).toMatchObject([{ reason: 'MalformedItem', backend: 'notes' }]);
    expect(warnings[0]?.message).toContain(message);
  });
});

const ICON = { src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' };
const ANNOTATIONS = { audience: ['user'], priority: 0.5, lastModified: '2025-01-12T15:00:58Z' };
const COMMON = { title: 't', description: 'd', icons: [ICON], _meta: { a: 1 } };
const JSON_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { a: { type: 'string', description: 'd' } },
  required: ['a'],
};
/** Items with all members that clients know. */
const WHOLE: Readonly<Record<ListKind, object>> = {
  tools: {
    ...tool({ ...COMMON, inputSchema: JSON_SCHEMA, outputSchema: JSON_SCHEMA }),
    annotations: { title: 't', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    execution: { taskSupport: 'optional' },
  },
  resources: resource({ ...COMMON, mimeType: 'text/plain', size: 5, annotations: ANNOTATIONS }),
  templates: template({ ...COMMON, mimeType: 'text/plain', annotations: ANNOTATIONS }),
  prompts: prompt({ ...COMMON, arguments: [{ name: 'a', title: 't', description: 'd', required: true }] }),
};
const ODD = [
  null,
  undefined,
  0,
  -1,
  1.5,
  1e300,
  '',
  'x',
  'object',
  '2025-02-30T00:00:00Z',
  true,
  [],
  {},
  [null],
  ['x'],
  [{}],
  { a: null },
  { a: true },
];

type Path = readonly (string | number)[];

/** Lists the paths of all members and elements. */
const pathsOf = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...pathsOf(inner, [...path, key])])
    : [];

function withValue(item: object, path: Path, value: unknown): object {
  const copy = structuredClone(item);
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], copy);
  (parent as Record<string, unknown>)[path.at(-1) ?? ''] = value;
  return copy;
}

/** Checks of the SDKs by list. Those of sessions get their own output schemas. */
const CHECKS: Readonly<Record<ListKind, readonly ((result: unknown) => boolean)[]>> = {
  tools: [
    (result) => newest.ListToolsResultSchema.safeParse(result).success,
    (result) => older.ListToolsResultSchema.safeParse(result).success,
    isSpecType.ListToolsResult,
  ],
  resources: [
    (result) => newest.ListResourcesResultSchema.safeParse(result).success,
    (result) => older.ListResourcesResultSchema.safeParse(result).success,
    isSpecType.ListResourcesResult,
  ],
  templates: [
    (result) => newest.ListResourceTemplatesResultSchema.safeParse(result).success,
    (result) => older.ListResourceTemplatesResultSchema.safeParse(result).success,
    isSpecType.ListResourceTemplatesResult,
  ],
  prompts: [
    (result) => newest.ListPromptsResultSchema.safeParse(result).success,
    (result) => older.ListPromptsResultSchema.safeParse(result).success,
    isSpecType.ListPromptsResult,
  ],
};

it.each<ListKind>(['tools', 'resources', 'templates', 'prompts'])(
  'no value of any member of %s makes an SDK reject the list',
  (kind) => {
    const { list } = WIRE[kind];
    const isRead = (text: string): boolean => {
      const page = Buffer.from(`{"${list}":[${text}]}`);
      const result: unknown = JSON.parse((kind === 'tools' ? olderTools(page) : page).toString());
      return CHECKS[kind].every((check) => check(result));
    };
    let rejected = 0;
    for (const path of pathsOf(WHOLE[kind])) {
      for (const value of ODD) {
        const text = JSON.stringify(withValue(WHOLE[kind], path, value));
        if (!isRead(text)) rejected += 1;
        const { json } = repairItem(kind, Buffer.from(text));
        if (json) expect({ text: json.toString(), isRead: isRead(json.toString()) }).toMatchObject({ isRead: true });
      }
    }
    expect(rejected).toBeGreaterThan(50);
  },
);
