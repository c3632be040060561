import type { UpstreamFilter } from '../settings.ts';
import type { UpstreamIdentity } from '../upstream/upstream.ts';

export type FilterOutcome =
  | { readonly ok: true; readonly included: readonly string[]; readonly excluded: readonly string[] }
  /** The claim is not there, or no list of texts: nobody can tell what the user may have. */
  | { readonly ok: false };

/**
 * Which of the providers behind the first one this user's logins visit. Runs once, on what the first provider says, and
 * only narrows: a provider that is not in the chain is not added.
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
  const wanted = matching.length > 0 ? matching.flatMap((rule) => rule.providers) : filter.defaultProviders;
  return {
    ok: true,
    included: laterProviders.filter((name) => wanted.includes(name)),
    excluded: laterProviders.filter((name) => !wanted.includes(name)),
  };
}

const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
