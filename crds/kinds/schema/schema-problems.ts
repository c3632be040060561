import type { ErrorObject } from 'ajv/dist/2020.js';
import {
  BASE_URL_PATTERN,
  DNS_LABEL_PATTERN,
  DURATION_PATTERN,
  HOST_PATTERN,
  HOST_VARIABLE_PATTERN,
  HTTP_URL_PATTERN,
  QUANTITY_PATTERN,
  SCOPE_PATTERN,
} from '../../../gateway/contract/fields.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import { HEADER_NAME_PATTERN } from '../../../gateway/contract/rule.ts';
import type { Shape } from './defaults.ts';
import { pathText, pointerSteps, type Steps } from './object-path.ts';

/** Problem with the steps of its path. */
export interface SteppedProblem extends Problem {
  readonly steps: Steps;
}

const PATTERN_WORDS: ReadonlyMap<unknown, string> = new Map([
  [DURATION_PATTERN, 'must be a duration such as 30s or 1h30m'],
  [DNS_LABEL_PATTERN, 'must be lowercase letters, digits and hyphens, not starting or ending with a hyphen'],
  [HTTP_URL_PATTERN, 'must be an http or https URL'],
  [BASE_URL_PATTERN, 'must be an http or https URL without a query, a fragment and a slash at its end'],
  [HOST_PATTERN, 'must be a host name, or *.DOMAIN for all below it, without a scheme and a port'],
  [HOST_VARIABLE_PATTERN, 'must be the name of a variable: letters, digits and _, not starting with a digit'],
  [SCOPE_PATTERN, 'must be one scope, without spaces and quotes: write one item each'],
  [QUANTITY_PATTERN, 'must be a quantity such as 500m or 256Mi'],
  [HEADER_NAME_PATTERN, 'must be a header name: letters, digits and hyphens'],
]);

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  'integer,string': 'a whole number, or text such as "500m"',
};

/** Returns the type that a schema demands, with the only member that an object must have, as `name` of a reference. */
function typeWords({ params, parentSchema }: ErrorObject): string {
  const type = String((params as Readonly<Record<string, unknown>>)['type']);
  const { required = [] } = (parentSchema ?? {}) as { readonly required?: readonly string[] };
  return (TYPE_WORDS[type] ?? type) + (type === 'object' && required.length === 1 ? ` with ${required.join()}` : '');
}

function found(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'a whole number' : 'a number';
  return TYPE_WORDS[typeof value] ?? typeof value;
}

/** Returns the Levenshtein distance of two names, ignoring case. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1]?.toLowerCase() === b[j - 1]?.toLowerCase() ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Returns the most similar name, if any is similar enough to be meant. */
export function closest(name: string, known: readonly string[]): string | undefined {
  const [best] = known.map((each) => ({ each, edits: distance(name, each) })).toSorted((a, b) => a.edits - b.edits);
  return best && best.edits <= Math.max(2, Math.floor(name.length / 3)) ? best.each : undefined;
}

/** Returns the only name that begins or ends with the given name, as `groupRef` for `group` and `remoteUrl` for `url`. */
function onlyLonger(name: string, known: readonly string[]): string | undefined {
  const short = name.toLowerCase();
  const longer = known.filter((each) => each.toLowerCase().startsWith(short) || each.toLowerCase().endsWith(short));
  return short.length >= 3 && longer.length === 1 ? longer[0] : undefined;
}

function unknownField(name: string, known: readonly string[]): string {
  const near = closest(name, known) ?? onlyLonger(name, known);
  if (near !== undefined) return `unknown field "${name}"; did you mean "${near}"?`;
  if (known.length > 0 && known.length <= 8) return `unknown field "${name}"; there is ${known.join(', ')}`;
  return `unknown field "${name}"; remove it`;
}

/** Returns the values of an enum as text, or the value to write if there is only one. */
function choice(allowed: readonly unknown[], path: string): string {
  if (allowed.length === 1) return `this is for another program or version: write ${path}: ${String(allowed[0])}`;
  return `must be one of ${allowed.map((value) => JSON.stringify(value)).join(', ')}`;
}

/** Returns the reason and message of an ajv error, or undefined if another error describes the problem better. */
function describe(error: ErrorObject, path: string): Omit<Problem, 'path'> | undefined {
  const params = error.params as Readonly<Record<string, unknown>>;
  const limit = String(params['limit']);
  const invalid = (message: string) => ({ reason: 'InvalidValue', message });
  switch (error.keyword) {
    case 'type':
      return {
        reason: 'InvalidType',
        message: `must be ${typeWords(error)}, not ${found(error.data)}`,
      };
    case 'enum':
      return invalid(choice(params['allowedValues'] as unknown[], path));
    case 'pattern':
      return invalid(PATTERN_WORDS.get(params['pattern']) ?? `must match ${String(params['pattern'])}`);
    case 'minLength':
      return invalid(limit === '1' ? 'must not be empty' : `must have at least ${limit} characters`);
    case 'maxLength':
      return invalid(`must have at most ${limit} characters`);
    case 'minimum':
      return invalid(`must be at least ${limit}`);
    case 'maximum':
      return invalid(`must be at most ${limit}`);
    case 'minItems':
      return invalid(`must have at least ${limit} ${limit === '1' ? 'item' : 'items'}`);
    case 'maxItems':
      return invalid(`must have at most ${limit} items`);
    case 'maxProperties':
      return invalid(`must have at most ${limit} members`);
    default:
      return invalid(error.message ?? `${path} is wrong`);
  }
}

const NAME_PATHS = new Set(['metadata.name', 'metadata.namespace']);

/** Converts an ajv error (verbose) to a problem with its exact path. The message says what to do and never contains the value. */
export function toProblem(error: ErrorObject, root: unknown): SteppedProblem {
  const steps = pointerSteps(root, error.instancePath);
  const params = error.params as Readonly<Record<string, string | undefined>>;
  const at = (where: Steps, reason: string, message: string) => ({
    steps: where,
    path: pathText(where),
    reason,
    message,
  });
  if (error.keyword === 'required') {
    const missing = [...steps, params['missingProperty'] ?? ''];
    const members = (error.parentSchema as Shape | undefined)?.properties;
    const meaning = members?.[params['missingProperty'] ?? '']?.description;
    return at(missing, 'MissingField', `set ${pathText(missing)}${meaning ? `: ${meaning.replace(/[.]$/u, '')}` : ''}`);
  }
  if (error.keyword === 'additionalProperties') {
    const name = params['additionalProperty'] ?? '';
    const known = Object.keys((error.parentSchema as Shape | undefined)?.properties ?? {});
    return at([...steps, name], 'UnknownField', unknownField(name, known));
  }
  const path = pathText(steps);
  const { reason, message } = describe(error, path) ?? { reason: 'InvalidValue', message: 'is wrong' };
  if (NAME_PATHS.has(path) && reason === 'InvalidValue') {
    const words = error.keyword === 'pattern' ? 'must be lowercase letters, digits, hyphens and dots' : message;
    return at(steps, 'InvalidName', words);
  }
  return at(steps, reason, message);
}
