import { describe, expect, it } from 'vitest';
import type { UpstreamFilter } from '../settings.ts';
import { filterUpstreams } from './legs.ts';

const FILTER: UpstreamFilter = {
  claim: 'groups',
  rules: [
    { groups: ['dev', 'ops'], providers: ['git'] },
    { groups: ['ops'], providers: ['cloud', 'unknown'] },
  ],
  defaultProviders: ['wiki'],
};
const LATER = ['cloud', 'git', 'wiki'];
const filtered = (claims: Readonly<Record<string, unknown>>, filter: UpstreamFilter | undefined = FILTER) =>
  filterUpstreams(filter, LATER, claims);

describe('the filter of providers by a claim of the first one', () => {
  it.each([
    ['one rule', ['dev'], ['git'], ['cloud', 'wiki']],
    ['the union of all rules that match, in the configured order', ['ops'], ['cloud', 'git'], ['wiki']],
    ['the defaults without a match', ['hr'], ['wiki'], ['cloud', 'git']],
    ['the defaults without groups', [], ['wiki'], ['cloud', 'git']],
    ['no defaults when a rule matches', ['hr', 'dev'], ['git'], ['cloud', 'wiki']],
    ['groups by their exact names', ['DEV', 'dev '], ['wiki'], ['cloud', 'git']],
  ])('includes the providers of %s', (_what, groups, included, excluded) => {
    expect(filtered({ groups })).toEqual({ ok: true, included, excluded });
  });

  it.each([
    ['is missing', {}],
    ['is one text', { groups: 'dev' }],
    ['is an object', { groups: { 0: 'dev' } }],
    ['is null', { groups: null }],
    ['holds a number', { groups: ['dev', 1] }],
    ['holds a list', { groups: [['dev']] }],
    ['is inherited', Object.create({ groups: ['dev'] }) as Record<string, unknown>],
  ])('fails the login when the claim %s', (_what, claims) => {
    expect(filtered(claims)).toEqual({ ok: false });
  });

  it('adds no provider to the chain', () => {
    expect(filterUpstreams(FILTER, ['git'], { groups: ['ops'] })).toEqual({
      ok: true,
      included: ['git'],
      excluded: [],
    });
    expect(filterUpstreams({ ...FILTER, defaultProviders: [] }, LATER, { groups: [] })).toMatchObject({ included: [] });
  });

  it('includes all providers without a filter', () => {
    expect(filterUpstreams(undefined, LATER, {})).toEqual({ ok: true, included: LATER, excluded: [] });
  });

  it('uses the name of the claim literally', () => {
    const claim = 'https://corp.example/groups';
    expect(filtered({ [claim]: ['dev'] }, { ...FILTER, claim })).toMatchObject({ included: ['git'] });
    expect(filtered({ groups: ['dev'] }, { ...FILTER, claim: '__proto__' })).toEqual({ ok: false });
  });
});
