import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KINDS } from './kinds/index.ts';
import { editorSchemas } from './crd.ts';

const root = join(import.meta.dirname, '..');
const schemas = new Map(editorSchemas().map(({ name, content }) => [name, JSON.parse(content) as object]));

/** A validator like that of an editor: relative references lead to the files beside `all.json`. */
const ajv = new Ajv({ strict: false, validateFormats: false });
for (const [name, schema] of schemas) ajv.addSchema(schema, name);
const accepts = (document: unknown): boolean => ajv.validate('all.json', document);

const documentsOf = (text: string): unknown[] =>
  parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [document.toJS() as unknown]));

const OWN = 'vmcp.dev/v1alpha1';
const resourcesIn = (files: string) =>
  globSync(files, { cwd: root })
    .flatMap((file) =>
      documentsOf(readFileSync(join(root, file), 'utf8')).map((document, index) => ({
        place: `${file}, document ${String(index + 1)}`,
        document: document as { apiVersion: string; kind: string; spec: object },
      })),
    )
    .filter(({ document }) => document.apiVersion === OWN);
const ours = resourcesIn('examples/**/*.{yaml,yml}');
const samples = resourcesIn('crds/kinds/samples/valid/*.yaml');

describe('the schemas for editors', () => {
  it('accept every example', () => {
    expect(ours.length).toBeGreaterThan(50);
    expect(ours.filter(({ document }) => !accepts(document)).map(({ place }) => place)).toEqual([]);
  });

  it('accept every valid sample', () => {
    const folder = join(root, 'crds', 'kinds', 'samples', 'valid');
    const rejected = globSync('*.yaml', { cwd: folder }).filter(
      (file) => !documentsOf(readFileSync(join(folder, file), 'utf8')).every(accepts),
    );
    // Nulls count as absent for the API server only.
    expect(rejected.toSorted()).toEqual(['group-null-status.yaml', 'server-generated.yaml']);
  });

  it('reject a misspelt field', () => {
    const kinds = new Map([...samples, ...ours].map((each) => [each.document.kind, each]));
    expect(kinds.size).toBe(KINDS.length);
    for (const { place, document } of kinds.values()) {
      const misspelt = { ...document, spec: { ...document.spec, gruopRef: { name: 'tools' } } };
      expect(accepts(misspelt), place).toBe(false);
    }
  });

  it('reject an unknown kind and accept Secrets', () => {
    expect(accepts({ apiVersion: OWN, kind: 'MCPServre', metadata: { name: 'a' }, spec: {} })).toBe(false);
    expect(accepts({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, stringData: { key: 'x' } })).toBe(true);
  });

  it('describe every field of a spec, and have no keyword of the API server', () => {
    const undescribed: string[] = [];
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      for (const [name, field] of Object.entries((node as { properties?: object }).properties ?? {})) {
        if (!('description' in (field as object))) undescribed.push(`${path}.${name}`);
        visit(field, `${path}.${name}`);
      }
    };
    for (const [name, schema] of schemas) visit(schema, name);
    expect(undescribed).toEqual([]);
    expect(JSON.stringify([...schemas])).not.toContain('x-kubernetes');
  });
});
