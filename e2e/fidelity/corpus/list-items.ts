/** Lists, by the member of the result with the items. */
export type List = 'tools' | 'resources' | 'resourceTemplates' | 'prompts';

/** One item of a list of a backend. */
export interface ItemCase {
  /** Name or URI for clients, without a prefix; `{backend}` in a URI is replaced with the name of the backend. */
  readonly key: string;
  /** Text of the item; `KEY` is replaced with the JSON text of the key. */
  readonly item: string;
  /** JSON text of the key; the plain JSON string by default. */
  readonly keyText?: string;
  /** Text of an item that clients cannot read, as they get it. */
  readonly repaired?: string;
}

const deep = (depth: number): string => `${'{"not":'.repeat(depth)}{}${'}'.repeat(depth)}`;

const TOOLS: Readonly<Record<string, string>> = {
  'tool-plain': '{"name":KEY,"inputSchema":{"type":"object"}}',
  'tool-unknown-members': '{"name":KEY,"inputSchema":{"type":"object"},"x-own":{"z":1,"a":-0},"version":1.0}',
  'tool-icons':
    '{"name":KEY,"icons":[{"src":"data:image/png;base64,AA==","sizes":["1x1"],"x":1}],"inputSchema":{"type":"object"}}',
  'tool-annotations':
    '{"annotations":{"readOnlyHint":true,"destructiveHint":false,"x-own":null},"name":KEY,"inputSchema":{"type":"object"}}',
  'tool-execution': '{"name":KEY,"execution":{"taskSupport":"optional"},"inputSchema":{"type":"object"}}',
  'tool-meta': '{"name":KEY,"inputSchema":{"type":"object"},"_meta":{"com.example/uri":"ui://x","n":9007199254740993}}',
  'tool-output-schema':
    '{"name":KEY,"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"maximum":1e400,"multipleOf":0.10}}}}',
  'tool-draft-2020':
    '{"name":KEY,"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"a":{"$anchor":"b"}},"$ref":"#b","type":"object","properties":{"x":{},"y":{"not":{}}}}}',
  'tool-header-annotation':
    '{"name":KEY,"inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}}',
  'tool-name-late':
    '{"title":"t","inputSchema":{"properties":{"name":{"const":"x"}},"type":"object"},"name":KEY,"description":"name"}',
  'tool-duplicate-members': '{"name":KEY,"inputSchema":{"type":"object","a":1,"a":2},"x":1,"x":2}',
  'tool-spaces': '{ "name" : KEY ,\t"inputSchema" : { "type" : "object" } }',
  'tool-lines': '{\n  "name": KEY,\n  "inputSchema": {\n    "type": "object"\n  }\n}',
  'tool-surrogates': String.raw`{"name":KEY,"description":"\ud83d\ude42 \\ud83d \u0000 \u00fc ü 🙂","inputSchema":{"type":"object"}}`,
  'tool-long-description': `{"name":KEY,"description":"${'long '.repeat(20_000)}","inputSchema":{"type":"object"}}`,
  'tool-deep-schema': `{"name":KEY,"inputSchema":{"type":"object","not":${deep(150)}}}`,
  'tool.with_all-9': '{"name":KEY,"inputSchema":{"type":"object"}}',
};

/** Tools that make an SDK reject the whole list. */
const ODD_TOOLS: readonly ItemCase[] = [
  {
    key: 'tool-null-members',
    item: '{"name":KEY,"title":null,"description":null,"inputSchema":{},"outputSchema":null,"x":null}',
    repaired: '{"name":KEY,"inputSchema":{"type":"object"},"x":null}',
  },
  { key: 'tool-no-schema', item: '{"name":KEY}', repaired: '{"name":KEY,"inputSchema":{"type":"object"}}' },
  {
    key: 'tool-cut-emoji',
    item: String.raw`{"name":KEY,"description":"\ud83d","inputSchema":{"type":"object"}}`,
    repaired: String.raw`{"name":KEY,"description":"\ufffd","inputSchema":{"type":"object"}}`,
  },
];

const ODD_NAMES: readonly ItemCase[] = [
  {
    key: 'tool-escaped-name',
    keyText: String.raw`"\u0074ool-escaped\u002dname"`,
    item: '{"name":KEY,"inputSchema":{"type":"object"}}',
  },
  { key: 'tool ümlaut/🙂', item: '{"name":KEY,"inputSchema":{"type":"object"}}' },
  { key: 'tool "quoted" \\ \n', item: '{"name":KEY,"inputSchema":{"type":"object"}}' },
  { key: 't'.repeat(200), item: '{"name":KEY,"inputSchema":{"type":"object"}}' },
];

const RESOURCES: Readonly<Record<string, string>> = {
  'corpus://{backend}/item-plain': '{"uri":KEY,"name":"n"}',
  'corpus://{backend}/item-size':
    '{"uri":KEY,"name":"n","size":9007199254740993,"mimeType":"text/plain;charset=\\"u\\""}',
  'corpus://{backend}/item-annotations':
    '{"name":"n","uri":KEY,"annotations":{"audience":[],"priority":1.0,"lastModified":"2025-01-12T15:00:58.10+02:00"},"_meta":{"uri":"x"}}',
  'corpus://{backend}/item-icons':
    '{"uri":KEY,"name":"","icons":[{"src":"https://e.x/a.svg","theme":"light"}],"x":null}',
  'corpus://{backend}/ä b/%2e%2E?q={x}#f': '{"uri":KEY,"name":"odd uri"}',
};

const TEMPLATES: Readonly<Record<string, string>> = {
  'corpus://{backend}/t/{id}': '{"uriTemplate":KEY,"name":"n","mimeType":"a/b"}',
  'corpus://{backend}/q{?a,b*,c:3}': '{"name":"n","uriTemplate":KEY,"x-own":[1.0],"annotations":{"priority":0}}',
};

const PROMPTS: Readonly<Record<string, string>> = {
  'prompt-item-plain': '{"name":KEY}',
  'prompt-item-arguments':
    '{"arguments":[{"name":"a","required":true,"x":1.0},{"name":"b","description":""}],"name":KEY,"title":"t"}',
  'prompt-item-meta': '{"name":KEY,"description":"","_meta":{"name":"x"},"icons":[],"x-own":{"b":1,"a":2}}',
};

const cases = (items: Readonly<Record<string, string>>): ItemCase[] =>
  Object.entries(items).map(([key, item]) => ({ key, item }));

export const LIST_ITEMS: Readonly<Record<List, readonly ItemCase[]>> = {
  tools: [...cases(TOOLS), ...ODD_TOOLS, ...ODD_NAMES],
  resources: cases(RESOURCES),
  resourceTemplates: cases(TEMPLATES),
  prompts: cases(PROMPTS),
};
