import { createHash } from 'node:crypto';
import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from '../contract/json.ts';
import { CedarInstance } from './authorization/cedar.ts';
import type { CheckedPolicies } from './authorization/check.ts';
import { keyOf } from './authorization/entities.ts';
import type { ParsedPolicy } from './authorization/policy-text.ts';
import { isEntityRef, readsOf } from './authorization/syntax.ts';

const HASH_DIGITS = 8;
/** Characters of the tail: `_` and the digits of the hash. */
const TAIL = HASH_DIGITS + 1;

/**
 * Returns the name that clients see of a tool: a name over `max` characters becomes its first `max` - 9, `_` and 8 hex digits of the
 * SHA-256 of the whole name. Depends on nothing else, so a name in a policy and the name of a tool always agree.
 */
export function shortToolName(name: string, max: number | undefined): string {
  if (max === undefined || name.length <= max) return name;
  return `${shortHead(name, max)}_${createHash('sha256').update(name).digest('hex').slice(0, HASH_DIGITS)}`;
}

/** Returns the start of `text` that names of up to `max` characters keep in any case. */
export const shortHead = (text: string, max = Infinity): string =>
  text.slice(0, Math.max(0, max - TAIL)).replace(/[\ud800-\udbff]$/, '');

const TOOL = 'Tool';

/**
 * Replaces the tools with longer names than `max` that policies and entities name by their short names, which requests have. So a
 * policy keeps its effect when names become shorter.
 */
export function withShortTools(checked: CheckedPolicies, max: number | undefined): CheckedPolicies {
  if (max === undefined) return checked;
  const isLong = ({ type, id }: { type: string; id: string }): boolean => type === TOOL && id.length > max;
  const cedar = new CedarInstance();
  return {
    ...checked,
    policies: checked.policies.map((policy) =>
      readsOf([policy.json]).entities.some(isLong) ? shortened(policy, cedar, max) : policy,
    ),
    entities: new Map(
      [...checked.entities.values()].map((entity) => {
        const short = withShortRefs(entity, max) as typeof entity;
        return [keyOf(short.uid), short];
      }),
    ),
  };
}

function shortened(policy: ParsedPolicy, cedar: CedarInstance, max: number): ParsedPolicy {
  const json = withShortRefs(policy.json, max) as PolicyJson;
  const answer = cedar.run((module) => module.policyToText(json));
  if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join('; '));
  return { ...policy, json, text: answer.text };
}

/** Policies are nested a few hundred levels deep at most (`MAX_POLICY_DEPTH`). */
function withShortRefs(value: unknown, max: number): unknown {
  if (Array.isArray(value)) return value.map((item) => withShortRefs(item, max));
  if (!isObject(value)) return value;
  if (isEntityRef(value) && value.type === TOOL) return { ...value, id: shortToolName(value.id, max) };
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withShortRefs(member, max)]));
}
