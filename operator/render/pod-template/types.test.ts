import * as client from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { POD_TEMPLATE_CHOICES } from './check.ts';
import { ALTERNATIVES, POD_TEMPLATE_TYPES, type FieldType } from './types.ts';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

/** Lists the fields of a type in the Kubernetes client. */
function attributesOf(name: string): ReadonlyMap<string, string> {
  const models = client as unknown as Readonly<Record<string, { getAttributeTypeMap?: () => Attribute[] } | undefined>>;
  const model = models[`V1${name}`] ?? models[`CoreV1${name}`];
  return new Map(model?.getAttributeTypeMap?.().map(({ baseName, type }) => [baseName, type]) ?? []);
}

const SCALARS: Readonly<Record<string, readonly string[]>> = {
  string: ['string', 'Date'],
  text: ['string'],
  quantity: ['string'],
  boolean: ['boolean'],
  flag: ['boolean'],
  integer: ['number'],
  count: ['number'],
  port: ['IntOrString'],
  map: ['{ [key: string]: string; }'],
  quantities: ['{ [key: string]: string; }'],
};

function clientTypes({ name, list }: FieldType): string[] {
  return (SCALARS[name] ?? [`V1${name}`, `CoreV1${name}`]).map((type) => (list ? `Array<${type}>` : type));
}

const types = [...POD_TEMPLATE_TYPES].map(([name, fields]) => ({ name, fields }));

describe('the types of a pod template', () => {
  it.each(types)('$name has the fields and types of the Kubernetes client', ({ name, fields }) => {
    const known = attributesOf(name);
    expect(known.size).toBeGreaterThan(0);
    for (const [field, type] of fields) expect(clientTypes(type), field).toContain(known.get(field));
    // Most metadata fields have no effect in a pod template.
    if (name !== 'ObjectMeta') expect([...fields.keys()].toSorted()).toEqual([...known.keys()].toSorted());
  });

  it('refers only to types that it defines', () => {
    const named = types.flatMap(({ fields }) => [...fields.values()].map(({ name }) => name));
    expect(named.filter((name) => !POD_TEMPLATE_TYPES.has(name) && !(name in SCALARS))).toEqual([]);
  });

  it('has merge keys that are fields of the items', () => {
    for (const { fields } of types) {
      for (const [field, { name, keys }] of fields) {
        for (const key of keys) expect(POD_TEMPLATE_TYPES.get(name)?.has(key), `${field}: ${key}`).toBe(true);
      }
    }
  });

  it('lists choices of fields that are text', () => {
    expect(POD_TEMPLATE_CHOICES.size).toBeGreaterThan(15);
    for (const place of POD_TEMPLATE_CHOICES.keys()) {
      const [type = '', field = ''] = place.split('.');
      expect(POD_TEMPLATE_TYPES.get(type)?.get(field)?.name, place).toMatch(/^(string|text)$/u);
    }
  });

  it('lists alternatives that are fields', () => {
    for (const [name, members] of ALTERNATIVES) {
      expect(members.length).toBeGreaterThan(1);
      for (const member of members) expect(POD_TEMPLATE_TYPES.get(name)?.has(member), `${name}.${member}`).toBe(true);
    }
  });
});
