import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { generatedFiles } from './generate.ts';
import { KINDS } from './kinds/index.ts';
import { OPERATIONS } from '../gateway/management/operations.ts';
import { TAGS } from '../gateway/management/operation.ts';

const files = await generatedFiles();
const crds = files.filter(({ path }) => path.startsWith('charts/vmcp-crds/files/'));

interface Crd {
  metadata: { name: string };
  spec: {
    scope: string;
    names: { categories: string[]; shortNames?: string[] };
    versions: { name: string; served: boolean; storage: boolean; subresources: object; schema: unknown }[];
  };
}

describe('the generated files', () => {
  it.each(files.map(({ path, content }) => [path, content] as const))(
    '%s matches the file in the repository',
    async (path, content) => {
      expect(await readFile(join(import.meta.dirname, '..', path), 'utf8')).toBe(content);
    },
  );

  it.each(KINDS)('crds/$plural.yaml is the definition of the chart', async ({ plural }) => {
    const link = join(import.meta.dirname, `${plural}.yaml`);
    expect(await readlink(link)).toBe(`../charts/vmcp-crds/files/${plural}.yaml`);
    expect(await readFile(link, 'utf8')).toBe(
      files.find(({ path }) => path.endsWith(`/files/${plural}.yaml`))?.content,
    );
  });

  it('are the same at each run', async () => {
    expect(await generatedFiles()).toEqual(files);
  });

  it('contain a definition, a schema for editors and a reference for each kind, both other references, and the resources of the chart', () => {
    expect(files.map(({ path }) => path).toSorted()).toEqual(
      [
        ...KINDS.map(({ plural }) => `charts/vmcp-crds/files/${plural}.yaml`),
        ...KINDS.map(({ singular }) => `docs/reference/${singular}.md`),
        ...KINDS.map(({ singular }) => `crds/schemas/${singular}.json`),
        'crds/schemas/all.json',
        'docs/api.md',
        ...TAGS.map((tag) => `docs/reference/api/${tag}.md`),
        'docs/reference/openapi.json',
        'charts/vmcp-crds/kustomize/kustomizeconfig.yaml',
        'charts/vmcp/templates/_kinds.tpl',
        'docs/reference/audit-event.md',
        'docs/reference/run-config.md',
      ].toSorted(),
    );
  });
});

describe.each(crds.map(({ path, content }) => [path, content] as const))('%s', (_, content) => {
  const crd = parse(content, { version: '1.1' }) as Crd;

  it('has one namespaced version with a status, and the category', () => {
    expect(crd.metadata.name).toMatch(/^[a-z]+\.vmcp\.dev$/u);
    expect(crd.spec.scope).toBe('Namespaced');
    expect(crd.spec.names.categories).toEqual(['mcp']);
    expect(crd.spec.versions).toHaveLength(1);
    expect(crd.spec.versions[0]).toMatchObject({
      name: 'v1alpha1',
      served: true,
      storage: true,
      subresources: { status: {} },
    });
  });

  it('preserves unknown fields only in free-form fields', () => {
    const kept: string[] = [];
    const visit = (node: unknown, path: string) => {
      if (typeof node !== 'object' || node === null) return;
      if ('x-kubernetes-preserve-unknown-fields' in node) kept.push(path);
      for (const [name, member] of Object.entries(node))
        visit(member, name === 'properties' ? path : `${path}.${name}`);
    };
    visit((crd.spec.versions[0]!.schema as { openAPIV3Schema: unknown }).openAPIV3Schema, '');
    expect(kept.filter((path) => !/podTemplateSpec$|compositeTools\./u.test(path))).toEqual([]);
  });
});

it('a reference page lists every field with its description, and every rule', () => {
  for (const { singular, rules } of KINDS) {
    const text = files.find(({ path }) => path === `docs/reference/${singular}.md`)?.content ?? '';
    const [fields = '', rest = ''] = text.split('## Rules');
    const withoutMeaning = fields.split('\n').filter((line) => line.startsWith('| `') && /\| *\|$/u.test(line));
    expect(withoutMeaning).toEqual([]);
    const rows = (rest.split('## status')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
    expect(rows).toHaveLength(rules.length > 0 ? rules.length + 2 : 0);
  }
});

describe('the pages of the management API', () => {
  const pages = files.filter(({ path }) => /^docs\/(?:api|reference\/api\/\w+)\.md$/u.test(path));
  const textOf = (page: string): string => pages.find(({ path }) => path === page)?.content ?? '';
  /** Counts words, without the lines and blanks that draw tables. */
  const wordsOf = (text: string): number => text.split(/[\s|]+/u).filter((word) => /\w/u.test(word)).length;

  it('list each operation once, and describe it on the page of its resource', () => {
    for (const { method, path, summary, tag } of OPERATIONS) {
      expect(textOf('docs/api.md').split(`| \`${method} ${path}\``)).toHaveLength(2);
      expect(textOf(`docs/reference/api/${tag}.md`)).toContain(`### ${summary}\n\n\`${method} ${path}\`\n`);
    }
  });

  it('describe each schema once', () => {
    const headings = pages.flatMap(({ content }) =>
      [...(content.split('\n## Schemas\n')[1] ?? '').matchAll(/^### (\w+)$/gmu)].map(([, name]) => name),
    );
    expect(headings.length).toBeGreaterThan(30);
    expect(headings).toEqual([...new Set(headings)]);
  });

  it('have at most 5,000 words each, and 15,000 together', () => {
    const words = pages.map(({ content }) => wordsOf(content));
    expect(Math.max(...words)).toBeLessThan(5_000);
    expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThan(15_000);
  });
});
