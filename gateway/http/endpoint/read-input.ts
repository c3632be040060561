import type { Request } from 'express';
import { IsArray, type TObject, type TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
import { Pointer, Value } from 'typebox/value';
import { FORM, JSON_TYPE, readBodyText, counted, tooMany, valuesByName, jsonExcess } from './body-text.ts';
import type { InputSchemas } from './operation.ts';
import { RequestError, type InputProblem } from './request-error.ts';

/** Rules by which an HTTP interface reads requests. */
export interface InputRules {
  readonly maxBodyBytes: number;
  /** Reads a JSON body whatever its Content-Type is. */
  readonly ignoresMediaType: boolean;
  /** Uses the first value of a repeated query parameter, instead of refusing the request. */
  readonly acceptsRepeated: boolean;
  /** Returns the value of a JSON body. Throws `SyntaxError`. */
  readonly parseBody: (text: string, schema: TSchema) => unknown;
}

const STRICT: InputRules = {
  maxBodyBytes: 64 * 1024,
  ignoresMediaType: false,
  acceptsRepeated: false,
  parseBody: (text) => JSON.parse(text) as unknown,
};

/**
 * Reads the parts of a request that have a schema. Throws `RequestError`. The body is read last, so that a request with a
 * wrong path or query costs no body.
 */
export async function readInput(
  schemas: InputSchemas,
  req: Request,
  pathParameters: Readonly<Record<string, string>>,
  rules: InputRules = STRICT,
): Promise<Record<string, unknown>> {
  const { path, query, form, body } = schemas;
  const input: Record<string, unknown> = {};
  if (path) input['path'] = validated('path', path, Value.Convert(path, decoded(pathParameters)));
  if (query) input['query'] = parameters('query', query, queryText(req), rules.acceptsRepeated);
  if (form) input['form'] = parameters('form', form, await readBodyText(req, FORM, rules.maxBodyBytes));
  if (body) {
    const text = await readBodyText(req, rules.ignoresMediaType ? undefined : JSON_TYPE, rules.maxBodyBytes);
    input['body'] = validated('body', body, json(text, body, rules));
    if (schemas.bodyText) input['bodyText'] = text;
  }
  return input;
}

/** Returns true if the parameters of a path fit their schema. */
export const acceptsPath = (
  schemas: InputSchemas | undefined,
  pathParameters: Readonly<Record<string, string>>,
): boolean => !schemas?.path || Value.Check(schemas.path, Value.Convert(schemas.path, decoded(pathParameters)));

/** Returns the encoded query, without `?`. */
export function queryText({ originalUrl }: Request): string {
  const start = originalUrl.indexOf('?');
  return start === -1 ? '' : originalUrl.slice(start + 1);
}

/** Most problems of one answer. */
const MOST_PROBLEMS = 20;
/** Longest path of a problem: the client chooses the names in it. */
const LONGEST_PATH = 200;

function invalid(...problems: InputProblem[]): RequestError {
  const more = problems.length - MOST_PROBLEMS;
  const told = problems.slice(0, MOST_PROBLEMS).map((problem) => ({ ...problem, path: shortened(problem.path) }));
  if (more > 0) told.push({ path: 'request', reason: 'invalid', message: `has ${String(more)} more problems` });
  return new RequestError({ kind: 'invalid_input', problems: told });
}

const shortened = (path: string): string => (path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path);

function decoded(raw: Readonly<Record<string, string>>): Record<string, string> {
  const decode = ([name, text]: [string, string]): [string, string] => {
    try {
      return [name, decodeURIComponent(text)];
    } catch {
      throw invalid({ path: `path.${name}`, reason: 'invalid', message: 'must be percent-encoded UTF-8' });
    }
  };
  return Object.fromEntries(Object.entries(raw).map(decode));
}

function json(text: string, schema: TSchema, { parseBody }: InputRules): unknown {
  const excess = jsonExcess(text);
  if (excess) throw tooMany('body', excess.parts, excess.limit);
  try {
    return parseBody(text, schema);
  } catch {
    throw invalid({ path: 'body', reason: 'invalid', message: 'must be JSON' });
  }
}

/** Validates encoded parameters. An empty value counts as absent: RFC 6749 §3.1. */
function parameters(part: 'query' | 'form', schema: TObject, encoded: string, acceptsRepeated = false): unknown {
  const read: [string, unknown][] = [];
  const repeated: InputProblem[] = [];
  for (const [name, values] of valuesByName(counted(part, encoded))) {
    const isList = IsArray(schema.properties[name]);
    if (values.length > 1 && !isList && !acceptsRepeated)
      repeated.push({ path: `${part}.${name}`, reason: 'repeated', message: 'must be given once' });
    const given = values.filter((value) => value !== '');
    if (given.length > 0) read.push([name, isList ? given : given[0]]);
  }
  if (repeated.length > 0) throw invalid(...repeated);
  return validated(part, schema, Value.Convert(schema, Object.fromEntries(read)));
}

function validated(part: string, schema: TSchema, value: unknown): unknown {
  if (Value.Check(schema, value)) return value;
  throw invalid(...schemaProblems(part, schema, value));
}

function schemaProblems(part: string, schema: TSchema, value: unknown): InputProblem[] {
  return Value.Errors(schema, value).flatMap((error): InputProblem[] => {
    const path = `${part}${memberPath(error.instancePath)}`;
    switch (error.keyword) {
      case 'boolean':
        return [{ path, reason: 'unknown', message: 'is not known here' }];
      case 'additionalProperties':
        return []; // lists the names of all such errors again
      case 'required':
        return error.params.requiredProperties.map((name) => ({
          ...{ path: `${path}.${name}`, reason: 'missing', message: 'must be given' },
        }));
      case 'enum':
        return [{ path, reason: 'invalid', message: `must be one of ${error.params.allowedValues.join(', ')}` }];
      default:
        return [{ path, reason: 'invalid', message: sentenceOf(error, schema) }];
    }
  });
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'a JSON object',
  array: 'a list',
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
};

/** Says in plain words which values fit. */
function sentenceOf(error: TLocalizedValidationError, schema: TSchema): string {
  switch (error.keyword) {
    case 'type': {
      const types = [error.params.type].flat();
      return `must be ${types.map((type) => TYPE_NAMES[type] ?? type).join(' or ')}`;
    }
    case 'minLength':
    case 'minItems':
      return error.params.limit === 1 ? 'must not be empty' : error.message;
    case 'pattern': {
      const { description } = (Pointer.Get(schema, error.schemaPath.slice(1)) ?? {}) as { description?: string };
      return description === undefined ? error.message : `is not valid: ${description}`;
    }
    default:
      return error.message;
  }
}

/** Converts a JSON pointer: `/items/2/name` to `.items[2].name`. */
const memberPath = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((name) => (/^\d+$/u.test(name) ? `[${name}]` : `.${name}`))
    .join('');
