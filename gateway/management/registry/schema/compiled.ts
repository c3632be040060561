import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Errors } from 'typebox/value';

/**
 * Returns the check of a schema, which is compiled at its first use: most gateways never read a registry, and all would wait for it at
 * their start.
 */
export function compiled<Schema extends TSchema>(schema: Schema): (value: unknown) => value is Static<Schema> {
  let check: ((value: unknown) => boolean) | undefined;
  return (value): value is Static<Schema> => (check ??= compileCheck(schema))(value);
}

/** Returns the first fault of a value that does not fit its schema, with the path in it. */
export function schemaFault(schema: TSchema, value: unknown): string {
  const [fault] = Errors(schema, value);
  if (!fault) return 'it does not fit its schema';
  const { instancePath, message, params } = fault as {
    instancePath: string;
    message: string;
    params?: { requiredProperties?: string[] };
  };
  const path = instancePath.slice(1).replaceAll('/', '.');
  const missing = params?.requiredProperties;
  if (missing) return `${[path, missing[0]].filter(Boolean).join('.')} is missing`;
  return `${path === '' ? 'it' : path} ${message}`;
}

function compileCheck(schema: TSchema): (value: unknown) => boolean {
  const validator = Compile(schema);
  return (value) => validator.Check(value);
}
