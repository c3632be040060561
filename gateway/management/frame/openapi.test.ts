import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../operations.ts';
import { pascalCase } from './named-schemas.ts';
import { openApiOf } from './openapi.ts';

interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Document {
  readonly paths: Record<string, Record<string, { requestBody?: Body; responses: Record<string, Body> }>>;
  readonly components: { readonly schemas: Record<string, Schema> };
}
const document = JSON.parse(JSON.stringify(openApiOf(OPERATIONS, '0.0.0'))) as Document;

/** Returns the JSON pointers of the objects below `value` that fit. */
function placesOf(value: unknown, fits: (node: Schema) => boolean, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value).flatMap(([name, child]) => placesOf(child, fits, `${at}/${name}`));
  return fits(value as Schema) ? [at, ...inside] : inside;
}

/** Returns true for an object with members. */
const hasMembers = ({ type, properties }: Schema): boolean =>
  type === 'object' && properties !== undefined && Object.keys(properties).length > 0;

it('is accepted by the linter', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const source = JSON.stringify(openApiOf(OPERATIONS, '0.0.0'));
  const findings = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  expect(findings.map(({ ruleId, message, location: [at] }) => `${ruleId} ${at?.pointer ?? ''}: ${message}`)).toEqual(
    [],
  );
});

it('names an answer whose errors have further members, and an answer of two forms', () => {
  const member = { isStructured: true, message: 'refused', members: { limit: Type.Integer() } };
  const other = { ...member, members: { reason: Type.String() } };
  const errors = { refused: { ...member, status: 403 }, full: { ...other, status: 409 } };
  const [operation] = OPERATIONS;
  const { components, paths } = JSON.parse(
    JSON.stringify(openApiOf([{ ...operation!, id: 'tryIt', path: '/try', method: 'GET', errors }], '0.0.0')),
  ) as Document;
  const schemaOf = (status: number): unknown =>
    paths['/try']?.['get']?.responses[String(status)]?.content?.['application/json']?.schema;
  expect(schemaOf(403)).toEqual({ $ref: '#/components/schemas/TryIt403ErrorOrRefusal' });
  expect(schemaOf(409)).toEqual({ $ref: '#/components/schemas/TryIt409Error' });
  expect(components.schemas).toMatchObject({
    TryIt403ErrorOrRefusal: {
      anyOf: [{ $ref: '#/components/schemas/TryIt403Error' }, { $ref: '#/components/schemas/Refusal' }],
    },
    TryIt403Error: { properties: { code: { type: 'string' }, limit: { type: 'integer' } } },
    TryIt409Error: { properties: { code: { type: 'string' }, reason: { type: 'string' } } },
  });
});

it('gives every operation an id and a path of its own', () => {
  const ids = OPERATIONS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const places = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(places).size).toBe(places.length);
});

it('has one type in each schema, except where a run configuration that is imported has a duration', () => {
  expect(placesOf(document, ({ type }) => Array.isArray(type))).toEqual([]);
  const isOneOfTypes = ({ anyOf }: Schema): boolean =>
    Array.isArray(anyOf) && (anyOf as Schema[]).filter(({ type }) => type !== 'null').length > 1;
  expect(placesOf(document, isOneOfTypes)).toEqual(['/components/schemas/ImportedDuration']);
  expect(document.components.schemas['ImportedDuration']).toMatchObject({
    anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'object' }],
  });
  const isUntyped = ({ type, enum: values }: Schema): boolean => Array.isArray(values) && type === undefined;
  expect(placesOf(document, isUntyped)).toEqual([]);
});

it('describes a map by additionalProperties', () => {
  expect(placesOf(document, ({ patternProperties }) => patternProperties !== undefined)).toEqual([]);
  const { env_vars: variables, tools_override: tools } =
    document.components.schemas['WorkloadSettings']?.properties ?? {};
  expect(variables).toMatchObject({ type: 'object', additionalProperties: { type: 'string' } });
  expect(tools).toMatchObject({ additionalProperties: { $ref: '#/components/schemas/ToolOverride' } });
});

it('names every body, and every object with members inside it', () => {
  const bodies = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ requestBody = {}, responses }) => [requestBody, ...Object.values(responses)])
    .flatMap(({ content = {} }) => Object.entries(content));
  const json = bodies.filter(([mediaType]) => mediaType.endsWith('json'));
  expect(json.length).toBeGreaterThan(OPERATIONS.length);
  expect(json.filter(([, { schema }]) => typeof schema['$ref'] !== 'string')).toEqual([]);
  expect(placesOf(document.paths, hasMembers)).toEqual([]);
  const { schemas } = document.components;
  expect(placesOf(schemas, hasMembers).filter((place) => place.split('/').length > 2)).toEqual([]);
  expect(Object.keys(schemas)).toEqual(
    expect.arrayContaining([
      'Group',
      'RegisteredClient',
      'RegistryServer',
      'RunConfig',
      'Secret',
      'InstalledSkill',
      'Workload',
    ]),
  );
});

it('has no name that a generator gives to something else', () => {
  const names = Object.keys(document.components.schemas);
  const lower = new Set(names.map((name) => name.toLowerCase()));
  expect(lower.size).toBe(names.length); // each gets a file, also where file names ignore case
  expect(names.filter((name) => !/^[A-Z][\dA-Za-z]*$/.test(name) || name === 'Client')).toEqual([]);
  expect(names.filter((name) => lower.has(`new${name.toLowerCase()}`))).toEqual([]); // the constructor in Go
  const inner = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).flatMap(([member, { $ref }]) => ($ref === undefined ? [name + pascalCase(member)] : [])),
  );
  expect(inner.filter((name) => lower.has(name.toLowerCase()))).toEqual([]);
  // In Go, the values of all named lists are constants of the same package.
  const values = Object.values(document.components.schemas).flatMap(({ enum: some = [] }) => some as string[]);
  expect(values.length).toBeGreaterThan(0);
  expect(new Set(values).size).toBe(values.length);
});
