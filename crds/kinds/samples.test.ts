import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';
import { describe, expect, it } from 'vitest';
import type { Rule } from '../../gateway/contract/rule.ts';
import { KINDS } from './index.ts';
import { pathText, places, type Steps } from './schema/object-path.ts';
import { embeddedAuthServers } from './testdata/embedded-auth-server.ts';
import { validateObject, withDefaults } from './validate.ts';

const samples = (folder: string) => {
  const dir = join(import.meta.dirname, 'samples', folder);
  return readdirSync(dir)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => [file, readFileSync(join(dir, file), 'utf8')] as const);
};

const valid = samples('valid');
/** Samples that local mode accepts and a cluster rejects. */
const local = samples('local');
const invalid = samples('invalid');

const read = (text: string) => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return { object: document.toJS() as { kind: string; spec?: unknown }, document, lines };
};

const said = (text: string, what: string): string => {
  const found = new RegExp(`^# ${what}: (.+)$`, 'mu').exec(text)?.[1];
  if (found === undefined) throw new Error(`the sample does not say "# ${what}:"`);
  return found;
};

/** Line of the nearest part of the path that exists: of the key in a map, of the item in a list. */
function lineOf(text: string, path: string): number {
  const { document, lines } = read(text);
  let node: Node | null | undefined = document.contents;
  let offset = node?.range?.[0] ?? 0;
  let here: Steps = [];
  for (;;) {
    const step = nextStep(path, here, node);
    if (!step) return lines.linePos(offset).line;
    ({ node, offset, here } = step);
  }
}

function nextStep(path: string, here: Steps, node: Node | null | undefined) {
  const options = isMap(node)
    ? node.items.map((pair) => ({
        step: isScalar(pair.key) ? String(pair.key.value) : '',
        offset: isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0,
        node: pair.value as Node | null,
      }))
    : isSeq(node)
      ? node.items.map((item, step) => ({ step, offset: (item as Node).range?.[0] ?? 0, node: item as Node }))
      : [];
  return options
    .map((option) => ({ ...option, here: [...here, option.step] }))
    .find((option) => {
      const text = pathText(option.here);
      return path === text || (path.startsWith(text) && /^[.[]/u.test(path.slice(text.length)));
    });
}

/** Fields of a kind's spec that no accepted sample sets. */
function unset(kind: string, schema: object): string[] {
  const own = [...valid, ...local].map(([, text]) => read(text).object);
  const objects = [...own, ...own.flatMap(embeddedAuthServers)].filter((object) => object.kind === kind);
  const values = objects.map(({ spec }) => spec);
  return missing(schema, values, 'spec');
}

interface SchemaNode {
  properties?: Record<string, SchemaNode>;
  patternProperties?: Record<string, SchemaNode>;
  items?: SchemaNode;
}

function missing(schema: SchemaNode, values: unknown[], path: string): string[] {
  const present = values.filter((value) => value !== undefined);
  if (present.length === 0) return [path];
  const inner = schema.items ?? Object.values(schema.patternProperties ?? {})[0];
  if (inner)
    return missing(
      inner,
      present.flatMap((value) => Object.values(value as object) as unknown[]),
      `${path}[]`,
    );
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    missing(
      member,
      present.map((value) => (value as Record<string, unknown>)[name]),
      `${path}.${name}`,
    ),
  );
}

describe('a valid sample', () => {
  it.each(valid)('%s is accepted', (_, text) => {
    const { object } = read(text);
    expect(validateObject(object.kind, object)).toEqual([]);
  });

  it.each(valid)('%s is not modified, and its copy with defaults is valid and complete', (_, text) => {
    const { object } = read(text);
    const before = structuredClone(object);
    const complete = withDefaults(object.kind, object);
    expect(validateObject(object.kind, object)).toEqual([]);
    expect(object).toEqual(before);
    expect(validateObject(object.kind, complete)).toEqual([]);
    expect(withDefaults(object.kind, complete)).toEqual(complete);
  });

  it.each(KINDS.map((kind) => [kind.kind, kind.spec] as const))('exists for every field of %s', (kind, spec) => {
    // These two are known so that they can be refused with advice.
    const refused = ['spec.config.backends', 'spec.config.sessionStorage'];
    expect(unset(kind, spec).filter((path) => !refused.includes(path))).toEqual([]);
  });
});

it('accepts the authorization server of every valid sample in an MCPExternalAuthConfig', () => {
  const configs = valid.flatMap(([, text]) => embeddedAuthServers(read(text).object));
  expect(configs.length).toBeGreaterThan(10);
  for (const config of configs) expect(validateObject(config.kind, config)).toEqual([]);
});

describe('a sample for local mode', () => {
  it.each(local)('%s is accepted, and breaks exactly the rule of clusters that it names', (_, text) => {
    const { object } = read(text);
    expect(validateObject(object.kind, object)).toEqual([]);
    const broken = KINDS.filter(({ kind }) => kind === object.kind)
      .flatMap(({ rules }): readonly Rule[] => rules)
      .filter(({ only }) => only === 'cluster')
      .flatMap(({ path, field, check }) =>
        places(object, path)
          .filter(({ value }) => !check(value as never))
          .map(({ steps }) => pathText([...steps, ...(field?.split('.') ?? [])])),
      );
    expect(broken).toEqual([said(text, 'rejects')]);
  });
});

describe('an invalid sample', () => {
  it.each(invalid)('%s has one problem, with its path and reason', (_, text) => {
    const { object } = read(text);
    const problems = validateObject(object.kind, object);
    expect(problems.map(({ path, reason }) => ({ path, reason }))).toEqual([
      { path: said(text, 'expect'), reason: said(text, 'reason') },
    ]);
    expect(problems[0]?.message.length).toBeGreaterThan(8);
  });

  it.each(invalid)('%s has the mistake in the line of its path', (_, text) => {
    expect(lineOf(text, said(text, 'expect'))).toBe(Number(said(text, 'line')));
  });

  it('exists for every reason', () => {
    expect(new Set(invalid.map(([, text]) => said(text, 'reason')))).toEqual(
      new Set(['UnknownField', 'InvalidType', 'InvalidValue', 'MissingField', 'InvalidName', 'RuleViolated']),
    );
  });
});
