import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Kind } from './schema/kind.ts';
import { inParts } from './schema/in-parts.ts';

/** Options of validators that are compiled here, and of those that the build compiles. */
export const AJV_OPTIONS = { allErrors: true, verbose: true, strict: false, validateFormats: false } as const;

// Optimized code takes twice as long to compile, and is not faster.
const ajv = new Ajv2020({ ...AJV_OPTIONS, code: { optimize: false } });
const compiled = new Map<string, ValidateFunction>();

/**
 * Returns the validator of the schema of a kind. Compiling it takes most of the time in which `vmcp` reads files:
 * build.ts replaces this module by one with compiled validators.
 */
export function schemaValidator({ kind, schema }: Pick<Kind, 'kind' | 'schema'>): ValidateFunction {
  const known = compiled.get(kind);
  if (known) return known;
  const validate = ajv.compile(inParts(schema));
  compiled.set(kind, validate);
  return validate;
}
