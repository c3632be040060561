import { describe, expect, it } from 'vitest';
import type { Aggregation } from '../../contract/aggregation/aggregation.ts';
import { aggregate } from './aggregate.ts';
import type { Catalog, ListItem } from './catalog.ts';
import { listPage } from './pages.ts';
import { WIRE } from './read-catalog.ts';
import { catalog, itemsOf, names, parse, randomFrom, rules, shuffled } from './testdata/catalogs.ts';
import type { AggregationResult, ListKind } from './view.ts';

const KINDS: readonly ListKind[] = ['tools', 'resources', 'templates', 'prompts'];
const STRATEGIES = ['prefix', 'priority', 'manual', 'none'] as const;
const BACKENDS = ['a', 'a_b', 'a-c', 'b', 'github', 'jira'];

type Random = () => number;
const pick = <Item>(random: Random, items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
const some = <Item>(random: Random, items: readonly Item[]): Item[] => items.filter(() => random() < 0.5);

function randomCatalogs(random: Random, unique: boolean): Catalog[] {
  return some(random, BACKENDS).map((backend) => {
    const words = ['c', 'b_c', 'search', 'a_b_c', 'x'.repeat(40), 'größe', 'c d'].map((word) =>
      unique ? backend + word : word,
    );
    return catalog(backend, {
      tools: some(random, words).map((name) => ({ name, description: backend, annotations: { title: name } })),
      prompts: some(random, words),
      resources: some(random, ['x:1', 'x:2', `${backend}:r`]),
      templates: some(random, ['x:{id}', 'x:{+all}', `${backend}:{/p*}`]),
      capabilities: random() < 0.5 ? { resources: { subscribe: true } } : {},
    });
  });
}

function randomRules(random: Random): Aggregation {
  const conflict_resolution = pick(random, STRATEGIES);
  return rules({
    conflict_resolution,
    prefix_format: pick(random, ['{workload}_', '{workload}.', 'custom_', '']),
    priority_order: some(random, BACKENDS),
    default_tool_visibility: pick(random, ['allow', 'deny']),
    exclude_all_tools: random() < 0.05,
    ...(random() < 0.4 ? { max_tool_name_length: pick(random, [16, 24, 64]) } : {}),
    tools: some(random, BACKENDS).map((workload) => ({
      workload,
      exclude_all: random() < 0.2,
      filter: random() < 0.4 ? some(random, ['c', 'search', 'renamed', 'nothing']) : [],
      overrides: random() < 0.5 ? { c: { name: pick(random, ['renamed', 'search']), description: 'new' } } : {},
    })),
  });
}

/** Returns the parts of a result that clients, operators and other replicas see. */
const visible = ({ view, conflicts, warnings }: AggregationResult): string =>
  JSON.stringify({
    routes: KINDS.map((kind) => [...view[kind]].sort()),
    hidden: [...view.hiddenTools].sort(),
    templates: view.templateRoutes.map(({ route }) => route),
    lists: KINDS.map((kind) => [view.lists[kind].digest, view.lists[kind].firstPage.toString()]),
    capabilities: view.capabilities,
    unavailable: view.unavailable,
    conflicts,
    warnings,
  });

const shuffledItems = (source: Catalog, random: Random): Catalog => ({
  ...source,
  tools: shuffled(source.tools, random),
  resources: shuffled(source.resources, random),
  templates: shuffled(source.templates, random),
  prompts: shuffled(source.prompts, random),
});

describe('determinism', () => {
  it.each(STRATEGIES)('%s: 200 shuffles of backends and items give the same view', (strategy) => {
    const random = randomFrom(7);
    const catalogs = randomCatalogs(() => 0.1, false);
    const settings = rules({
      conflict_resolution: strategy,
      priority_order: ['jira', 'a'],
      max_tool_name_length: 24,
      tools: [{ workload: 'b', filter: ['c', 'zz'], overrides: { c: { name: 'search' } } }],
    });
    const expected = visible(aggregate(catalogs, settings, ['y', 'z']));
    for (let round = 0; round < 200; round += 1) {
      const mixed = shuffled(catalogs, random).map((each) => shuffledItems(each, random));
      expect(visible(aggregate(mixed, settings, shuffled(['y', 'z'], random)))).toBe(expected);
    }
  });
});

/** Checks the invariants of every view, for any backends and rules. */
function check(catalogs: readonly Catalog[], settings: Aggregation, { view, conflicts }: AggregationResult): void {
  const offered = (kind: ListKind, backend: string, name: string): ListItem | undefined =>
    catalogs.find((each) => each.backend === backend)?.[kind].find((item) => item.key === name);
  for (const kind of KINDS) {
    const advertised = names(view, kind);
    expect(new Set(advertised).size).toBe(advertised.length);
    for (const item of view.lists[kind].items) {
      const route = view[kind].get(item.key);
      expect(parse(item)[WIRE[kind].key]).toBe(item.key);
      expect(route?.advertised).toBe(item.key);
      expect(route?.renamed).toBe(route?.name !== item.key);
    }
    for (const [key, route] of view[kind]) {
      expect(offered(kind, route.backend, route.name)).toBeDefined();
      expect(JSON.parse(route.nameJson.toString())).toBe(route.name);
      expect(route.renamed).toBe(route.name !== key);
      expect(advertised).toContain(route.advertised);
    }
  }
  for (const [name, route] of view.hiddenTools) {
    expect(view.tools.has(name)).toBe(false);
    expect(offered('tools', route.backend, route.name)).toBeDefined();
    for (const shown of view.tools.values())
      expect([shown.backend, shown.name]).not.toEqual([route.backend, route.name]);
  }
  const limit = settings.max_tool_name_length ?? Infinity;
  for (const name of names(view, 'tools')) expect(name.length).toBeLessThanOrEqual(limit);
  if (conflicts.length > 0) expect(view.tools.size).toBe(0);
  if (settings.conflict_resolution === 'prefix' || settings.conflict_resolution === 'priority')
    expect(conflicts).toEqual([]);
}

describe('every view', () => {
  it.each([true, false])('keeps its invariants for 400 random backends and rules (names unique: %s)', (unique) => {
    const random = randomFrom(unique ? 11 : 13);
    let tools = 0;
    let hidden = 0;
    let conflicting = 0;
    for (let round = 0; round < 400; round += 1) {
      const catalogs = randomCatalogs(random, unique);
      const settings = randomRules(random);
      const result = aggregate(catalogs, settings, []);
      check(catalogs, settings, result);
      tools += result.view.tools.size;
      hidden += result.view.hiddenTools.size;
      conflicting += result.conflicts.length;
    }
    expect(tools).toBeGreaterThan(400);
    expect(hidden).toBeGreaterThan(100);
    expect(conflicting > 50).toBe(!unique);
  });

  it('serves all items of all backends without clashes', () => {
    const random = randomFrom(17);
    for (let round = 0; round < 50; round += 1) {
      const catalogs = randomCatalogs(random, true);
      const { view } = aggregate(catalogs, rules({ conflict_resolution: 'none' }), []);
      expect(view.tools.size).toBe(catalogs.reduce((sum, each) => sum + each.tools.length, 0));
    }
  });
});

const LARGE = 'x'.repeat(100_000);
/** Members that parsing and printing would change, each appended to an item. */
const UNUSUAL: readonly string[] = [
  '"n":9007199254740993',
  '"n":-9007199254740995',
  '"n":1e400',
  '"n":-1E+400',
  '"n":1.0',
  '"n":1.50',
  '"n":-0',
  '"n":0.1e1',
  '"n":12345678901234567890123456789',
  '"n":1e-400',
  '"n":3.141592653589793238462643',
  '"s":"\\\\ud800"',
  '"s":"\\\\\\ud83d\\ude00"',
  '"s":"\\u0000"',
  '"s":"\\/"',
  '"s":"\\u0041"',
  '"s":"ä\\u00e4"',
  '"s":"😀\\ud83d\\ude00"',
  '"s":"\u2028\u2029"',
  '"s":"\u007f"',
  '"s":"\\b\\f\\n\\r\\t"',
  '"s":"</script>"',
  '"s":"\ufeff"',
  '"s":"e\u0301"',
  `"s":"${LARGE}"`,
  '"a":1,"a":2',
  '"a":{"b":1,"b":2}',
  '"A":1,"a":2',
  '"":""',
  '"":{"":[]}',
  '"\\u006eote":1',
  '"__proto__":{"x":1}',
  '"constructor":null',
  '"10":1,"9":2,"a":0',
  '"toString":"x"',
  '"ключ":"значение"',
  ' "w" :\t[ 1 ,\r\n 2 ] ',
  '"w":{ }',
  '"w":[ ]',
  '"w":[[[[[]]]]]',
  '"w":null',
  '"w":true,"v":false',
  '"w":[null,0]',
  '"icons":[{"src":"data:image/png;base64,AA==","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}]',
  '"annotations":{"title":"T","readOnlyHint":true,"vendor/own":1.0}',
  '"x":{"annotations":null}',
  '"_meta":{"description":null,"s":[]}',
  '"annotations":{"audience":["user"],"priority":0.90,"lastModified":"2025-01-12T15:00:58Z"}',
  '"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"},"com.example/x":1.0}',
  '"_meta":{}',
  '"title":""',
  '"description":""',
  '"icons":[]',
  '"icons":[ {"src":"","x":null} ]',
  '"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"x-mcp-header":"A","default":1e400}},"$defs":{}}',
  '"inputSchema":{"properties":{"a":{"default":null,"enum":[null]},"b":{"const":null}},"type":"object"}',
  '"inputSchema":{ "type" : "object" , "default":null}',
  '"inputSchema":{"type":"object","maximum":18446744073709551615}',
  '"outputSchema":{"type":"object","additionalProperties":false}',
  '"execution":{"taskSupport":"optional"}',
  '"size":9007199254740993',
  '"mimeType":"text/plain;charset=UTF-8"',
];

describe('bytes of an item', () => {
  const bodies = UNUSUAL.map((members, index) => ({ members, key: `i:${String(index).padStart(3, '0')}` }));
  /** Returns an item with everything that clients demand. */
  const textOf = (kind: ListKind, key: string, members: string): string => {
    const schema = members.includes('"inputSchema":') ? '' : '"inputSchema":{"type":"object"},';
    const needed = { tools: schema, resources: '"name":"n",', templates: '"name":"n",', prompts: '' }[kind];
    return `{"${WIRE[kind].key}":"${key}",${needed}${members}}`;
  };
  const source = (kind: ListKind): Catalog => {
    const { list } = WIRE[kind];
    const texts = bodies.map((body) => textOf(kind, body.key, body.members));
    const page = Buffer.from(` { "x" : 1, "${list}" :[ ${texts.join(' ,\n')} ] , "ttl":1.0}`);
    return { ...catalog('b', {}), [kind]: itemsOf('b', kind, [page]).items };
  };

  it('covers at least 60 unusual items', () => {
    expect(new Set(UNUSUAL).size).toBeGreaterThanOrEqual(60);
  });

  it.each(KINDS)('%s pass unchanged, alone and on the page', (kind) => {
    const { view } = aggregate([source(kind)], rules({ conflict_resolution: 'none' }), []);
    const expected = bodies.map(({ key, members }) => textOf(kind, key, members));
    expect(view.lists[kind].items.map((item) => item.json.toString())).toEqual(expected);
    expect(view.lists[kind].firstPage.toString()).toBe(`{"${WIRE[kind].list}":[${expected.join(',')}]}`);
  });

  it.each(['tools', 'prompts'] as const)('renamed %s change in their name only', (kind) => {
    const { view } = aggregate([source(kind)], rules(), []);
    expect(view.lists[kind].items.map((item) => item.json.toString())).toEqual(
      bodies.map(({ key, members }) => textOf(kind, `b_${key}`, members)),
    );
  });
});

describe('cost', () => {
  const text = 'word '.repeat(40);
  const schema = { type: 'object', properties: { path: { type: 'string', description: text }, n: { type: 'number' } } };
  const many = Array.from({ length: 10 }, (_, backend) =>
    catalog(`backend-${String(backend)}`, {
      tools: Array.from({ length: 50 }, (_, tool) => ({
        name: `tool_${String(tool)}`,
        description: text,
        inputSchema: schema,
      })),
    }),
  );

  /** Returns the time of `act`, ms. */
  function timeOf(act: () => void): number {
    const started = performance.now();
    act();
    return performance.now() - started;
  }

  it('aggregates 10 x 50 tools in at most 20 times the time of reading and writing them as JSON', () => {
    const tools = many.flatMap(({ tools: items }) => items.map(({ json }) => json.toString()));
    expect(tools).toHaveLength(500);
    let [aggregating, parsing] = [Infinity, Infinity];
    for (let round = 0; round < 40; round += 1) {
      const parse = () => {
        for (const tool of tools) JSON.stringify(JSON.parse(tool));
      };
      parsing = Math.min(parsing, timeOf(parse));
      const act = () => {
        expect(aggregate(many, rules(), []).view.tools.size).toBe(500);
      };
      aggregating = Math.min(aggregating, timeOf(act));
    }
    expect(aggregating / parsing).toBeLessThan(20);
  });

  it('returns the first page in constant time', () => {
    const { view } = aggregate(many, rules(), []);
    const started = performance.now();
    let bytes = 0;
    for (let round = 0; round < 100_000; round += 1) bytes += (listPage(view, 'tools') as Buffer).length;
    expect(bytes).toBe(view.lists.tools.firstPage.length * 100_000);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
