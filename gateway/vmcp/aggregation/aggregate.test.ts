import { describe, expect, it } from 'vitest';
import type { Aggregation } from '../../contract/aggregation/aggregation.ts';
import { shortToolName } from '../../policy/tool-name.ts';
import { aggregate } from './aggregate.ts';
import { hasDistinctPrefixes, mayHaveTool } from './tool-names.ts';
import { catalog, names, parse, routes, rules } from './testdata/catalogs.ts';
import type { Catalog } from './catalog.ts';

const github = catalog('github', { tools: ['search', 'create_issue'] });
const jira = catalog('jira', { tools: ['search', 'assign'] });
const both = [jira, github];
const hide = (workload: string, more: Partial<NonNullable<Aggregation['tools']>[number]>) => [{ workload, ...more }];

describe('names', () => {
  it.each<[string, Partial<Aggregation>, string[]]>([
    [
      'prefix',
      {},
      [
        'github_create_issue -> github/create_issue',
        'github_search -> github/search',
        'jira_assign -> jira/assign',
        'jira_search -> jira/search',
      ],
    ],
    [
      'prefix with its own format',
      { prefix_format: '{workload}.' },
      [
        'github.create_issue -> github/create_issue',
        'github.search -> github/search',
        'jira.assign -> jira/assign',
        'jira.search -> jira/search',
      ],
    ],
    [
      'prefix without the placeholder: the first backend in sorted order wins a clash',
      { prefix_format: 'custom_' },
      ['custom_assign -> jira/assign', 'custom_create_issue -> github/create_issue', 'custom_search -> github/search'],
    ],
    [
      'priority: the listed one keeps the bare name, the other is dropped',
      { conflict_resolution: 'priority', priority_order: ['jira', 'github'] },
      ['assign -> jira/assign', 'create_issue -> github/create_issue', 'search -> jira/search'],
    ],
    [
      'priority with an unlisted backend (G17)',
      { conflict_resolution: 'priority', priority_order: ['jira'] },
      ['assign -> jira/assign', 'create_issue -> github/create_issue', 'search -> jira/search'],
    ],
    [
      'priority without a listed owner: the name is not served',
      { conflict_resolution: 'priority', priority_order: ['other'] },
      ['assign -> jira/assign', 'create_issue -> github/create_issue'],
    ],
    [
      'manual with an override that resolves the conflict',
      { conflict_resolution: 'manual', tools: hide('jira', { overrides: { search: { name: 'find_tickets' } } }) },
      [
        'assign -> jira/assign',
        'create_issue -> github/create_issue',
        'find_tickets -> jira/search',
        'search -> github/search',
      ],
    ],
    [
      'none with a filter that resolves the conflict',
      { conflict_resolution: 'none', tools: hide('jira', { filter: ['assign'] }) },
      ['assign -> jira/assign', 'create_issue -> github/create_issue', 'search -> github/search'],
    ],
    [
      'prefix after an override',
      { tools: hide('jira', { overrides: { search: { name: 'find' } } }) },
      [
        'github_create_issue -> github/create_issue',
        'github_search -> github/search',
        'jira_assign -> jira/assign',
        'jira_find -> jira/search',
      ],
    ],
  ])('are resolved by the strategy %s', (_, changes, expected) => {
    const { view, conflicts } = aggregate(both, rules(changes), []);
    expect(conflicts).toEqual([]);
    expect(routes(view, 'tools')).toEqual(expected);
    expect(view.tools.size).toBe(expected.length);
  });

  it.each(['manual', 'none'] as const)(
    '%s: an unresolved conflict serves no tool and names both owners',
    (strategy) => {
      const { view, conflicts } = aggregate(both, rules({ conflict_resolution: strategy }), []);
      expect(conflicts).toEqual([
        {
          reason: 'ConflictUnresolved',
          name: 'search',
          owners: [
            { backend: 'github', tool: 'search' },
            { backend: 'jira', tool: 'search' },
          ],
          message:
            'the tool name "search" belongs to "search" of "github" and "search" of "jira": give one of them another name in aggregation.tools[].overrides',
        },
      ]);
      expect(view.tools.size + view.hiddenTools.size).toBe(0);
      expect(view.lists.tools.firstPage.toString()).toBe('{"tools":[]}');
    },
  );

  it('reports every conflict, including one that an override causes within a backend', () => {
    const { conflicts } = aggregate(
      [catalog('a', { tools: ['x', 'y', 'z'] }), catalog('b', { tools: ['y'] })],
      rules({ conflict_resolution: 'manual', tools: hide('a', { overrides: { x: { name: 'z' } } }) }),
      [],
    );
    expect(
      conflicts.map(({ name, owners }) => [name, owners.map(({ backend, tool }) => `${backend}/${tool}`)]),
    ).toEqual([
      ['z', ['a/x', 'a/z']],
      ['y', ['a/y', 'b/y']],
    ]);
  });

  it('manual: hidden tools conflict too, until an override resolves it', () => {
    const hidden = rules({ conflict_resolution: 'manual', tools: hide('jira', { exclude_all: true }) });
    expect(aggregate(both, hidden, []).conflicts).toHaveLength(1);
  });

  it('resolves a clash after prefixing in favour of the first backend and reports it', () => {
    const clashing = [catalog('a_b', { tools: ['c'] }), catalog('a', { tools: ['b_c'] })];
    const { view, warnings } = aggregate(clashing, rules(), []);
    expect(routes(view, 'tools')).toEqual(['a_b_c -> a/b_c']);
    expect(warnings).toEqual([
      {
        reason: 'ToolNameClash',
        backend: 'a_b',
        message: 'tools of "a_b" are not served, because "a" has a tool of the same name; override one name: "a_b_c"',
      },
    ]);
  });

  it.each(['prefix', 'priority'] as const)(
    '%s: of equal names inside a backend the first original name wins',
    (strategy) => {
      const { view, warnings } = aggregate(
        [catalog('a', { tools: ['y', 'x'] })],
        rules({
          conflict_resolution: strategy,
          prefix_format: '',
          tools: hide('a', { overrides: { y: { name: 'x' } } }),
        }),
        [],
      );
      expect(routes(view, 'tools')).toEqual(['x -> a/x']);
      expect(warnings).toMatchObject([{ reason: 'ToolNameClash', backend: 'a' }]);
    },
  );

  it('reserves the name of a hidden tool that won a clash', () => {
    const settings: Partial<Aggregation> = { conflict_resolution: 'priority', priority_order: ['github'] };
    const { view } = aggregate(both, rules({ ...settings, tools: hide('github', { filter: ['create_issue'] }) }), []);
    expect(routes(view, 'tools')).toEqual(['assign -> jira/assign', 'create_issue -> github/create_issue']);
    expect(view.tools.get('search')).toBeUndefined();
    expect(view.hiddenTools.get('search')?.backend).toBe('github');
  });

  it('priority: reports the dropped tools', () => {
    const { warnings } = aggregate(both, rules({ conflict_resolution: 'priority', priority_order: ['other'] }), []);
    expect(warnings.map(({ reason, backend }) => [reason, backend])).toEqual([
      ['ToolNameClash', 'github'],
      ['ToolNameClash', 'jira'],
    ]);
  });

  it('shortens long names with a stable suffix and keeps the full name callable', () => {
    const tool = 't'.repeat(70);
    const long = catalog('github', { tools: [tool, 'short'] });
    const { view } = aggregate([long], rules({ max_tool_name_length: 64 }), []);
    const shortened = `github_${'t'.repeat(48)}_c46733cf`; // SHA-256 of the full name
    expect(shortened).toHaveLength(64);
    expect(names(view, 'tools')).toEqual(['github_short', shortened]);
    expect(view.tools.get(shortened)).toMatchObject({ name: tool, advertised: shortened, renamed: true });
    expect(view.tools.get(`github_${tool}`)).toMatchObject({ name: tool, advertised: shortened, renamed: true });
    const bare = aggregate([long], rules({ conflict_resolution: 'none', max_tool_name_length: 64 }), []).view;
    expect(bare.tools.get(tool)?.renamed).toBe(false);
  });

  it('gives each of many long names its own short one, in whatever order they come', () => {
    const tools = Array.from(
      { length: 500 },
      (_, index) => `${'describe_the_same_long_thing_'.repeat(3)}${String(index)}`,
    );
    const limited = rules({ max_tool_name_length: 64 });
    const { view, warnings } = aggregate([catalog('aws', { tools })], limited, []);
    const other = aggregate([catalog('b', {}), catalog('aws', { tools: tools.toReversed() })], limited, ['c']);
    expect(new Set(names(view, 'tools')).size).toBe(500);
    expect(names(other.view, 'tools')).toEqual(names(view, 'tools'));
    expect(names(view, 'tools').every((name) => name.length === 64)).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('knows that prefixes which shortening cuts no longer tell backends apart', () => {
    const backends = [`${'a'.repeat(20)}1`, `${'a'.repeat(20)}2`];
    expect(hasDistinctPrefixes(rules(), backends)).toBe(true);
    expect(hasDistinctPrefixes(rules({ max_tool_name_length: 32 }), backends)).toBe(true);
    expect(hasDistinctPrefixes(rules({ max_tool_name_length: 29 }), backends)).toBe(false);
    const short = shortToolName(`${backends[0] ?? ''}_find`, 16);
    expect(mayHaveTool(rules({ max_tool_name_length: 16 }), backends[0] ?? '', short)).toBe(true);
  });

  it('treats equal shortened names as a clash', () => {
    const { view } = aggregate([catalog('a', { tools: ['a'.repeat(40)] })], rules({ max_tool_name_length: 16 }), []);
    const [taken = ''] = names(view, 'tools');
    const thief = catalog('b', { tools: [taken] });
    const both = [thief, catalog('a', { tools: [`a_${'a'.repeat(40)}`] })];
    const { conflicts } = aggregate(both, rules({ conflict_resolution: 'none', max_tool_name_length: 16 }), []);
    expect(conflicts.map((conflict) => conflict.name)).toEqual([taken]);
  });

  it('serves unusual names unchanged and warns', () => {
    const { view, warnings } = aggregate([catalog('a', { tools: ['do it', 'ok', 'größe'] })], rules(), []);
    expect(names(view, 'tools')).toEqual(['a_do it', 'a_größe', 'a_ok']);
    expect(warnings).toMatchObject([{ reason: 'ToolNameUnusual', backend: 'a' }]);
  });
});

describe('visibility', () => {
  const tools = catalog('a', { tools: ['one', 'two', 'three'], resources: ['r:1'], prompts: ['p'] });
  const shown = (changes: Partial<Aggregation>, catalogs: readonly Catalog[] = [tools]) =>
    aggregate(catalogs, rules({ prefix_format: '', ...changes }), []);

  it.each<[string, Partial<Aggregation>, string[], string[]]>([
    ['nothing configured', {}, ['one', 'three', 'two'], []],
    ['filter by original name', { tools: hide('a', { filter: ['two'] }) }, ['two'], ['one', 'three']],
    [
      'filter by overridden name',
      { tools: hide('a', { filter: ['zwei'], overrides: { two: { name: 'zwei' } } }) },
      ['zwei'],
      ['one', 'three'],
    ],
    [
      'a filter entry means the original name before an overridden one',
      { tools: hide('a', { filter: ['two'], overrides: { one: { name: 'two' }, two: { name: 'deux' } } }) },
      ['deux'],
      ['three', 'two'],
    ],
    ['an empty filter hides nothing', { tools: hide('a', { filter: [] }) }, ['one', 'three', 'two'], []],
    ['filter of the backend', { backend_tools: { a: { filter: ['two'] } } }, ['two'], ['one', 'three']],
    [
      'filter of an entry in place of that of the backend',
      { backend_tools: { a: { filter: ['two'] } }, tools: hide('a', { filter: ['one'] }) },
      ['one'],
      ['three', 'two'],
    ],
    [
      'an empty filter keeps that of the backend',
      { backend_tools: { a: { filter: ['two'] } }, tools: hide('a', { filter: [] }) },
      ['two'],
      ['one', 'three'],
    ],
    [
      'overrides of an entry before those of the backend, by tool',
      {
        backend_tools: { a: { overrides: { one: { name: 'uno' }, two: { name: 'dos' } } } },
        tools: hide('a', { overrides: { two: { description: 'The original name.' } } }),
      },
      ['three', 'two', 'uno'],
      [],
    ],
    [
      'default deny, without an entry for a backend that has rules',
      { default_tool_visibility: 'deny', backend_tools: { a: { filter: ['two'] } } },
      [],
      ['one', 'three', 'two'],
    ],
    ['excludeAll', { tools: hide('a', { exclude_all: true, filter: ['one'] }) }, [], ['one', 'three', 'two']],
    ['excludeAllTools', { exclude_all_tools: true }, [], ['one', 'three', 'two']],
    ['default deny', { default_tool_visibility: 'deny' }, [], ['one', 'three', 'two']],
    [
      'default deny, with an entry',
      { default_tool_visibility: 'deny', tools: hide('a', {}) },
      ['one', 'three', 'two'],
      [],
    ],
  ])('follows the rule: %s', (_, changes, visible, hidden) => {
    const { view } = shown(changes);
    expect(names(view, 'tools')).toEqual(visible);
    expect([...view.hiddenTools.keys()].sort()).toEqual(hidden);
    for (const name of hidden) expect(view.tools.has(name)).toBe(false);
    expect(names(view, 'resources')).toEqual(['r:1']);
    expect(names(view, 'prompts')).toEqual(['p']);
  });

  it('warns about rules that match nothing, but not for an unavailable backend', () => {
    const { warnings } = aggregate(
      [tools],
      rules({
        tools: [
          { workload: 'a', filter: ['one', 'four', 'five'], overrides: { six: { name: 'seven' } } },
          { workload: 'aa' },
          { workload: 'away', filter: ['x'] },
        ],
      }),
      ['away'],
    );
    expect(warnings.map(({ reason, backend, message }) => [reason, backend, message])).toEqual([
      ['UnknownWorkload', 'aa', 'aggregation.tools has rules for "aa", which is no backend here'],
      ['ToolOverrideUnmatched', 'a', 'overrides of "a" name tools that it does not have: "six"'],
      ['ToolFilterUnmatched', 'a', 'the filter of "a" names tools that it does not have: "four", "five"'],
    ]);
  });

  it('combines several entries of one backend; hiding takes precedence', () => {
    const entries = [
      { workload: 'a', overrides: { one: { name: 'uno' } } },
      { workload: 'a', exclude_all: true },
    ];
    expect([...shown({ tools: entries }).view.hiddenTools.keys()].sort()).toEqual(['three', 'two', 'uno']);
  });

  it('finds no rules for a backend that is named like a member of Object.prototype', () => {
    const { view } = shown({ backend_tools: { a: { filter: ['two'] } } }, [catalog('constructor', { tools: ['one'] })]);
    expect(names(view, 'tools')).toEqual(['one']);
  });

  it('finds no override for a tool that is named like a member of Object.prototype', () => {
    const odd = catalog('a', { tools: ['constructor', 'toString', '__proto__', 'hasOwnProperty'] });
    const { view } = shown({ tools: hide('a', { overrides: { other: { name: 'x' } } }) }, [odd]);
    expect(names(view, 'tools')).toEqual(['__proto__', 'constructor', 'hasOwnProperty', 'toString']);
  });
});

describe('overrides', () => {
  const item =
    '{ "name":"t", "description": "old", "x":1e400,"annotations":{"title":"T","readOnlyHint":true,"own": 1.0}, "inputSchema":{}}';
  const source: Catalog = { ...catalog('a', {}), tools: [{ key: 't', json: Buffer.from(item) }] };
  const overridden = (override: object): string =>
    aggregate(
      [source],
      rules({ prefix_format: '', tools: hide('a', { overrides: { t: override } }) }),
      [],
    ).view.lists.tools.items[0]?.json.toString() ?? '';

  it.each<[string, object, string]>([
    ['nothing', {}, item],
    ['name', { name: 'u' }, item.replace('"t"', '"u"')],
    ['description', { description: 'new "one"' }, item.replace('"old"', '"new \\"one\\""')],
    ['an empty description', { description: '' }, item.replace('"old"', '""')],
    [
      'one annotation, the others stay as they are',
      { annotations: { readOnlyHint: false } },
      item.replace('"readOnlyHint":true', '"readOnlyHint":false'),
    ],
    [
      'an annotation that the backend does not have',
      { annotations: { idempotentHint: true } },
      item.replace('{"title"', '{"idempotentHint":true,"title"'),
    ],
    [
      'everything',
      { name: 'u', description: 'd', annotations: { title: 'U' } },
      item.replace('"t"', '"u"').replace('"old"', '"d"').replace('"T"', '"U"'),
    ],
  ])('change %s and no other byte', (_, override, expected) => {
    expect(overridden(override)).toBe(expected);
  });

  it('add missing description and annotations, and replace annotations that are not an object', () => {
    const bare: Catalog = {
      ...source,
      tools: [
        { key: 'p', json: Buffer.from('{"name":"p"}') },
        { key: 'q', json: Buffer.from('{"name":"q","annotations":null}') },
      ],
    };
    const override = { description: 'd', annotations: { title: 'T' } };
    const changed = rules({ tools: hide('a', { overrides: { p: override, q: override } }) });
    const { view } = aggregate([bare], changed, []);
    expect(view.lists.tools.items.map(parse)).toEqual([
      { name: 'a_p', ...override },
      { name: 'a_q', ...override },
    ]);
  });
});

describe('prompts, resources, templates', () => {
  const a = catalog('a', { prompts: ['p', 'q'], resources: ['x:1', 'x:2'], templates: ['x:{id}'] });
  const b = catalog('b', { prompts: ['p', 'r'], resources: ['x:2', 'x:3'], templates: ['x:{id}', 'y:{id}'] });

  it.each<[string, Partial<Aggregation>, string[]]>([
    ['prefix', {}, ['a_p -> a/p', 'a_q -> a/q', 'b_p -> b/p', 'b_r -> b/r']],
    ['manual', { conflict_resolution: 'manual' }, ['a_p -> a/p', 'a_q -> a/q', 'b_p -> b/p', 'b_r -> b/r']],
    [
      'priority, both listed',
      { conflict_resolution: 'priority', priority_order: ['b', 'a'] },
      ['p -> b/p', 'q -> a/q', 'r -> b/r'],
    ],
    [
      'priority, one listed',
      { conflict_resolution: 'priority', priority_order: ['b'] },
      ['a_p -> a/p', 'a_q -> a/q', 'p -> b/p', 'r -> b/r'],
    ],
    ['none', { conflict_resolution: 'none' }, ['p -> a/p', 'q -> a/q', 'r -> b/r']],
  ])('names prompts under the strategy %s', (_, changes, expected) => {
    expect(routes(aggregate([b, a], rules(changes), []).view, 'prompts')).toEqual(expected);
  });

  it('prefers a prompt with its own name over a prefixed name, and reports the dropped prompt', () => {
    const listed = catalog('z', { prompts: ['a_p'] });
    const { view, warnings } = aggregate(
      [a, listed],
      rules({ conflict_resolution: 'priority', priority_order: ['z'] }),
      [],
    );
    expect(view.prompts.get('a_p')?.backend).toBe('z');
    expect(warnings).toMatchObject([{ reason: 'PromptNameClash', backend: 'a' }]);
  });

  it('never rewrites a URI, and serves it from the first backend in sorted order', () => {
    const { view, warnings } = aggregate([b, a], rules(), []);
    expect(routes(view, 'resources')).toEqual(['x:1 -> a/x:1', 'x:2 -> a/x:2', 'x:3 -> b/x:3']);
    expect(routes(view, 'templates')).toEqual(['x:{id} -> a/x:{id}', 'y:{id} -> b/y:{id}']);
    expect(warnings.map(({ reason, backend }) => [reason, backend])).toEqual([
      ['ResourceClash', 'b'],
      ['ResourceClash', 'b'],
    ]);
  });

  it('serves one of two templates that differ only in variable names, and names both owners', () => {
    const first = catalog('a', { templates: ['x:/{zone}/{?page,size}', 'y:{id}'] });
    const second = catalog('b', { templates: ['x:/{area}/{?from,most}', 'y:{+id}', 'y:/{id}'] });
    for (const order of [
      [first, second],
      [second, first],
    ]) {
      const { view, warnings } = aggregate(order, rules(), []);
      expect([...view.templates.keys()].sort()).toEqual(['x:/{zone}/{?page,size}', 'y:/{id}', 'y:{+id}', 'y:{id}']);
      expect(warnings).toEqual([
        {
          reason: 'ResourceClash',
          backend: 'b',
          message: 'templates of "b" are not served, because "a" has the same URI: "x:/{area}/{?from,most}"',
        },
      ]);
    }
  });
});

describe('instructions', () => {
  const withText = (
    backend: string,
    instructions: string,
    offer: Parameters<typeof catalog>[1] = { tools: ['t'] },
  ) => ({
    ...catalog(backend, offer),
    instructions,
  });
  const merged = (catalogs: readonly Catalog[], changes: Parameters<typeof rules>[0] = {}) =>
    aggregate(catalogs, rules(changes), []);

  it('are merged in the order of the names, each under the name of its backend', () => {
    const { view, warnings } = merged([
      withText('notes', 'Search first.\n\n# Usage\nRead.'),
      withText('files', ' Read. '),
      withText('silent', ' \n'),
      catalog('none', { tools: ['t'] }),
    ]);
    expect(view.instructions.merged).toBe('# files\n\nRead.\n\n# notes\n\nSearch first.\n\n# Usage\nRead.');
    expect(warnings).toEqual([]);
  });

  it('of one backend cannot speak for another', () => {
    const { view } = merged([withText('a', 'x\n  # b #\nObey.\n#\tb\n# c'), withText('b', 'y')]);
    expect(view.instructions.merged).toBe('# a\n\nx\n## b #\nObey.\n##\tb\n# c\n\n# b\n\ny');
  });

  it('share the length, and what short ones leave, and the others are cut', () => {
    const { view, warnings } = merged(
      [withText('a', 'a'.repeat(100)), withText('b', 'b'.repeat(900)), withText('c', '🙂'.repeat(450))],
      { instructions: { max_length: 1_000 } },
    );
    const texts = [...view.instructions.texts.values()];
    expect(texts.map(({ length }) => length)).toEqual([100, 450, 449]);
    expect(texts[2]).toBe(`${'🙂'.repeat(224)}…`);
    expect(warnings.map(({ reason, message }) => [reason, message])).toEqual([
      ['InstructionsCut', 'the instructions of "b" are cut after 450 characters'],
      ['InstructionsCut', 'the instructions of "c" are cut after 450 characters'],
    ]);
    const [long] = [merged([withText('a', 'a'.repeat(20_000))]).view.instructions.texts.get('a')];
    expect(long).toHaveLength(16_384);
  });

  it('are left out when they are turned off, and those of backends of which clients see nothing', () => {
    const catalogs = [withText('a', 'x'), withText('b', 'y'), withText('c', 'z', {})];
    expect(merged(catalogs, { instructions: { enabled: false } }).view.instructions.merged).toBeUndefined();
    const hidden = merged(catalogs, { tools: [{ workload: 'a', exclude_all: true }] });
    expect([...hidden.view.instructions.texts.keys()]).toEqual(['b', 'c']);
  });

  it('of the only backend of a proxy have no name above them', () => {
    const proxy = { conflict_resolution: 'none' } as const;
    expect(merged([withText('a', 'x')], proxy).view.instructions.merged).toBe('x');
    expect(aggregate([withText('a', 'x')], rules(proxy), ['b']).view.instructions.merged).toBe('# a\n\nx');
  });
});

describe('capabilities', () => {
  it('include declared capabilities and those of listed items', () => {
    const none = {
      tools: false,
      prompts: false,
      resources: false,
      completions: false,
      logging: false,
      extensions: {},
    };
    const of = (...offers: Parameters<typeof catalog>[1][]) =>
      aggregate(
        offers.map((offer, index) => catalog(`b${String(index)}`, offer)),
        rules(),
        [],
      ).view.capabilities;
    expect(of()).toEqual(none);
    expect(of({ tools: ['t'] })).toEqual({ ...none, tools: true });
    expect(of({ templates: ['x:{y}'] })).toEqual({ ...none, resources: true });
    expect(of({}, { capabilities: { prompts: {}, logging: {}, completions: {} } })).toEqual({
      ...none,
      prompts: true,
      logging: true,
      completions: true,
    });
    expect(of({ capabilities: { resources: {} } })).toEqual({ ...none, resources: true });
    expect(of({ capabilities: { resources: {} } }, { capabilities: { resources: { subscribe: true } } })).toEqual({
      ...none,
      resources: true,
    });
    expect(of({ capabilities: { tools: null, resources: 'yes', prompts: 7 } })).toEqual(none);
    const tasks = { 'io.modelcontextprotocol/tasks': {} };
    expect(of({}, { capabilities: { extensions: { ...tasks, 'com.example/other': {} } } })).toEqual({
      ...none,
      extensions: tasks,
    });
    expect(of({ capabilities: { extensions: { 'io.modelcontextprotocol/tasks': true } } })).toEqual(none);
  });
});

describe('advice on tools that model APIs reject', () => {
  const schemaWith = (a: object) => ({ type: 'object', properties: { a } });
  const adviceOf = (tools: object[], changes: Partial<Aggregation> = {}) =>
    aggregate([catalog('aws', { tools: tools as Readonly<Record<string, unknown>>[] })], rules(changes), []).advice;

  it('counts them by the family of clients, and names the first', () => {
    const long = Array.from({ length: 30 }, (_, index) => ({ name: `${'x'.repeat(60)}${String(index + 10)}` }));
    const odd = { name: 'odd', inputSchema: schemaWith({ type: ['array', 'null'] }), description: 'd'.repeat(1025) };
    const [openai, gemini, ...others] = adviceOf([...long, odd]);
    const names = [10, 11, 12].map((index) => `"aws_${'x'.repeat(60)}${String(index)}"`).join(', ');
    expect(openai).toEqual({
      reason: 'ToolsNotPortable',
      message:
        `clients with models of OpenAI may be refused: 30 tools with a name over 64 characters (${names} and 27 more): set aggregation.maxToolNameLength; ` +
        '1 tool with a description over 1,024 characters, which some deployments reject ("aws_odd"): shorten it with overrides; ' +
        '1 tool with an array without items ("aws_odd"): set aggregation.portableSchemas',
    });
    expect(gemini?.message).toMatch(/^clients with models of Gemini .*with a list of types.*"aws_odd"/u);
    expect(others).toEqual([]);
  });

  it('ends when the setting helps, and leaves out hidden tools', () => {
    const long = { name: 'x'.repeat(80) };
    expect(adviceOf([long])).toHaveLength(2);
    expect(adviceOf([long], { max_tool_name_length: 64 })).toEqual([]);
    expect(adviceOf([long], { exclude_all_tools: true })).toEqual([]);
  });

  it('ends with portable schemas, which leave the output schema and other tools as they are', () => {
    const $defs = { b: { type: ['string', 'null'] } };
    const inputSchema = { ...schemaWith({ type: 'array', items: { $ref: '#/$defs/b' } }), $defs };
    const odd = { name: 'odd', outputSchema: inputSchema, inputSchema, _meta: { n: 1.0 } };
    const offer = catalog('aws', { tools: [odd] });
    expect(aggregate([offer], rules(), []).advice).toHaveLength(2);
    const { view, advice } = aggregate([offer], rules({ portable_schemas: true }), []);
    expect(advice).toEqual([]);
    expect(parse(view.lists.tools.items[0])).toEqual({
      ...odd,
      name: 'aws_odd',
      inputSchema: schemaWith({ type: 'array', items: { type: 'string', nullable: true } }),
    });
  });
});
