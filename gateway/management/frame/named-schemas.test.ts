import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { NamedSchemas, pascalCase } from './named-schemas.ts';

const named = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Returns the schemas that an answer of these members leads to. */
function schemasOf(members: Record<string, object>): Record<string, unknown> {
  const schemas = new NamedSchemas();
  schemas.add({ type: 'object', properties: members }, 'Answer');
  return schemas.all();
}

it('describes a map by the schema of its values', () => {
  const members = {
    texts: Type.Record(Type.String(), Type.String()),
    byCode: Type.Record(Type.String({ pattern: '^[a-z]+$' }), Type.Object({ count: Type.Integer() })),
    any: Type.Record(Type.String(), Type.Unknown()),
    open: Type.Object({}, { additionalProperties: Type.Record(Type.String(), Type.Boolean()) }),
  };
  expect(schemasOf(members)).toEqual({
    Answer: {
      type: 'object',
      properties: {
        texts: { type: 'object', additionalProperties: { type: 'string' } },
        byCode: { type: 'object', additionalProperties: named('AnswerByCodeValue') },
        any: { type: 'object', additionalProperties: {} },
        open: {
          type: 'object',
          properties: {},
          additionalProperties: { type: 'object', additionalProperties: { type: 'boolean' } },
        },
      },
    },
    AnswerByCodeValue: { type: 'object', required: ['count'], properties: { count: { type: 'integer' } } },
  });
});

it('describes several types as alternatives, and only one of them as the named schema', () => {
  const profile = { title: 'Profile', type: ['object', 'null'], properties: { name: Type.String() } };
  const members = {
    text: { type: ['string', 'null'], maxLength: 3, description: 'Text.' },
    profile: { ...profile, description: 'Profile, or null.' },
    quantities: { type: 'array', items: { title: 'Quantity', type: ['integer', 'string'], minimum: 0 } },
  };
  expect(schemasOf(members)).toEqual({
    Answer: {
      type: 'object',
      properties: {
        text: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }], description: 'Text.' },
        profile: { anyOf: [named('Profile'), { type: 'null' }], description: 'Profile, or null.' },
        quantities: { type: 'array', items: named('Quantity') },
      },
    },
    Profile: { type: 'object', properties: { name: { type: 'string' } } },
    Quantity: {
      anyOf: [
        { type: 'integer', minimum: 0 },
        { type: 'string', minimum: 0 },
      ],
    },
  });
});

it('gives equal parts one name, and keeps the description of each use', () => {
  const part = (description: string) => Type.Object({ state: Type.Enum(['on', 'off']) }, { description });
  const { Answer: answer, ...others } = schemasOf({
    first: part('First.'),
    second: part('Second.'),
    same: part('First.'),
  });
  expect(answer).toMatchObject({
    properties: {
      first: named('AnswerFirst'),
      second: { ...named('AnswerFirst'), description: 'Second.' },
      same: named('AnswerFirst'),
    },
  });
  expect(others).toEqual({
    AnswerFirst: {
      type: 'object',
      description: 'First.',
      required: ['state'],
      properties: { state: { type: 'string', enum: ['on', 'off'] } },
    },
  });
});

it('rejects two schemas with one name', () => {
  const schemas = new NamedSchemas();
  schemas.add(Type.Object({ name: Type.String() }, { title: 'Group' }));
  expect(schemas.add(Type.Object({ name: Type.String() }, { title: 'Group' }))).toEqual(named('Group'));
  expect(() => schemas.add(Type.Object({ id: Type.String() }, { title: 'Group' }))).toThrow('"Group"');
});

it('joins the words of a name', () => {
  expect(['from_registry', 'nextCursor', '_meta', 'list-groups'].map(pascalCase)).toEqual([
    'FromRegistry',
    'NextCursor',
    'Meta',
    'ListGroups',
  ]);
});
