import { expect, it } from 'vitest';
import { KINDS } from '../index.ts';
import { inParts } from './in-parts.ts';
import type { Kind } from './kind.ts';

/** Puts each part back to where it is referred to. */
function whole(schema: unknown, parts: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(schema)) return schema.map((item: unknown) => whole(item, parts));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, $defs, ...rest } = schema as Readonly<Record<string, unknown>>;
  expect($defs === undefined || $defs === parts).toBe(true);
  if (typeof $ref === 'string') return whole(parts[$ref.replace('#/$defs/', '')], parts);
  return Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, whole(member, parts)]));
}

const kinds: readonly Kind[] = KINDS;

it.each(kinds.map(({ kind, schema }) => [kind, schema] as const))(
  '%s is the same schema, in parts',
  (_kind, schema) => {
    const split = inParts(schema) as { $defs: Readonly<Record<string, unknown>> };
    expect(whole(split, split.$defs)).toEqual(JSON.parse(JSON.stringify(schema)));
    expect(Object.keys(split.$defs)).not.toEqual([]);
  },
);
