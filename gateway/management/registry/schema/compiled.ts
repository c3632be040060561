import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

/**
 * Returns the check of a schema, which is compiled at its first use: most gateways never read a registry, and all would wait for it at
 * their start.
 */
export function compiled<Schema extends TSchema>(schema: Schema): (value: unknown) => value is Static<Schema> {
  let check: ((value: unknown) => boolean) | undefined;
  return (value): value is Static<Schema> => (check ??= checkOf(schema))(value);
}

function checkOf(schema: TSchema): (value: unknown) => boolean {
  const validator = Compile(schema);
  return (value) => validator.Check(value);
}
