import type { DetailedError, PolicyJson, PolicyToJsonAnswer } from '@cedar-policy/cedar-wasm/nodejs';
import type { Problem } from '../../contract/problem.ts';
import { CedarCrashError, CedarInstance } from './cedar.ts';
import { MAX_POLICIES, MAX_POLICY_BYTES, MAX_POLICY_DEPTH } from './config.ts';
import { depthOf } from './syntax.ts';

export const AUTHZ_INVALID = 'AuthzInvalid';

/** One policy of a configuration. */
export interface ParsedPolicy {
  /** Annotation `@id`, else its place, such as `policies[2]`. */
  readonly name: string;
  /** Path of its text, such as `policies[2]`. */
  readonly path: string;
  readonly text: string;
  readonly json: PolicyJson;
}

export type Parsed<T> = { readonly value: T } | { readonly problems: Problem[] };

const invalid = (path: string, message: string): Problem => ({ reason: AUTHZ_INVALID, path, message });

/** Parses the policies of a configuration. Each text holds one or more. Paths of problems start with `policies`. */
export function parsePolicies(texts: readonly string[]): Parsed<readonly ParsedPolicy[]> {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_POLICY_BYTES) {
    const message = `the policies have ${String(bytes)} bytes together, at most ${String(MAX_POLICY_BYTES)} are allowed: move names into groups and entities`;
    return { problems: [invalid('policies', message)] };
  }
  const cedar = new CedarInstance();
  const parsed = texts.map((text, index) => parseText(cedar, text, `policies[${String(index)}]`));
  const problems = parsed.flatMap((each) => ('problems' in each ? each.problems : []));
  if (problems.length > 0) return { problems };
  const value = parsed.flatMap((each) => ('value' in each ? each.value : []));
  if (value.length <= MAX_POLICIES) return { value };
  const message = `there are ${String(value.length)} policies, at most ${String(MAX_POLICIES)} are allowed: combine some`;
  return { problems: [invalid('policies', message)] };
}

function parseText(cedar: CedarInstance, text: string, path: string): Parsed<readonly ParsedPolicy[]> {
  try {
    const checked = cedar.run((module) => module.checkParsePolicySet({ staticPolicies: text }));
    if (checked.type === 'failure') {
      return { problems: checked.errors.map((error) => invalid(path, describe(error, text))) };
    }
    const value = cedar.run((module) => {
      const parts = module.policySetTextToParts(text);
      const found = parts.type === 'success' ? inTextOrder(parts.policies) : [];
      return found.map((part, index) => parsedPolicy(module.policyToJson(part), part, path, index, found.length));
    });
    if (value.length === 0) return { problems: [invalid(path, 'contains no policy: write one, or remove this item')] };
    const isDeep = value.some(({ json }) => depthOf(json) > MAX_POLICY_DEPTH);
    return isDeep ? { problems: [tooDeep(path)] } : { value };
  } catch (error) {
    if (error instanceof CedarCrashError) return { problems: [tooDeep(path)] };
    throw error;
  }
}

const tooDeep = (path: string): Problem =>
  invalid(
    path,
    `has expressions nested deeper than ${String(MAX_POLICY_DEPTH)}: split it into several policies, or compare with a set`,
  );

function parsedPolicy(
  answer: PolicyToJsonAnswer,
  text: string,
  path: string,
  index: number,
  count: number,
): ParsedPolicy {
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const place = count === 1 ? path : `${path} number ${String(index + 1)}`;
  return { name: answer.json.annotations?.['id'] ?? place, path, text, json: answer.json };
}

/** Restores the order of a text: the evaluator sorts its policies by their ids `policy0`, `policy1`, `policy10`. */
function inTextOrder(sorted: readonly string[]): string[] {
  const ids = sorted.map((_, index) => `policy${String(index)}`).sort();
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  return sorted.flatMap((_, index) => sorted[indexOf.get(`policy${String(index)}`) ?? -1] ?? []);
}

/** Describes a syntax error with its line and column, both from 1. */
function describe({ message, help, sourceLocations = [] }: DetailedError, text: string): string {
  const what = message.replace(/^failed to parse [^:]*: /u, '');
  if (what === 'static policy set includes a template') {
    return 'is a template: write the entity in place of ?principal or ?resource';
  }
  const [location] = sourceLocations;
  const place = location ? `${placeOf(text, location.start)}: ` : '';
  const hint = help ?? location?.label ?? '';
  return `${place}${what}${hint === '' ? '' : ` (${hint})`}`;
}

/** @param offset in bytes */
function placeOf(text: string, offset: number): string {
  const before = Buffer.from(text).subarray(0, offset).toString().split('\n');
  return `line ${String(before.length)}, column ${String((before.at(-1) ?? '').length + 1)}`;
}
