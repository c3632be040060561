import type { UpstreamFilter } from '../settings.ts';
import type { UpstreamIdentity } from '../upstream/upstream.ts';

export type FilterOutcome =
  | { readonly ok: true; readonly included: readonly string[]; readonly excluded: readonly string[] }
  /** The claim is missing or is no list of strings, so that the rules cannot be applied. */
  | { readonly ok: false };

/**
 * Chooses the later legs of a user by a claim of the first provider. It runs once, and it can only remove providers from
 * the configured chain.
 */
export function filterUpstreams(
  filter: UpstreamFilter | undefined,
  laterProviders: readonly string[],
  claims: UpstreamIdentity['claims'],
): FilterOutcome {
  if (!filter) return { ok: true, included: laterProviders, excluded: [] };
  const groups = textsOf(Object.hasOwn(claims, filter.claim) ? claims[filter.claim] : undefined);
  if (!groups) return { ok: false };
  const matching = filter.rules.filter((rule) => rule.groups.some((group) => groups.includes(group)));
  const chosen = matching.length > 0 ? matching.flatMap((rule) => rule.providers) : filter.defaultProviders;
  return {
    ok: true,
    included: laterProviders.filter((name) => chosen.includes(name)),
    excluded: laterProviders.filter((name) => !chosen.includes(name)),
  };
}

const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
