import { metadataAt } from '../../probes/issuer.ts';
import type { OnlineCheck } from '../online-check.ts';

const MOST_SHOWN = 12;

/** Compares a scope with those that the provider lists. The list may be incomplete (RFC 8414 §2), so this is never a problem. */
export const scope: OnlineCheck = async ({ value, metadata: place }, { get }) => {
  const { issuer, scopes_supported: listed } = (place && (await metadataAt(place, get))) ?? {};
  if (!Array.isArray(listed) || listed.includes(value)) return undefined;
  const shown = listed.filter((each) => typeof each === 'string').slice(0, MOST_SHOWN);
  const more = listed.length > MOST_SHOWN ? ', ...' : '';
  const message = `${String(issuer)} does not list the scope "${value}" (scopes_supported: ${shown.join(', ')}${more}): correct it, unless the list is incomplete`;
  return { severity: 'warning', reason: 'ScopeNotListed', message };
};
