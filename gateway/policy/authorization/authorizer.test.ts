import { describe, expect, it } from 'vitest';
import { Secret, type Identity } from '../../contract/identity.ts';
import { Authorizer } from './authorizer.ts';
import { requirePolicies } from './check.ts';
import type { AuthorizationConfig } from './config.ts';

const identity = (subject: string, claims: object): Identity => ({
  ...{ principal: subject, issuer: '', subject, scopes: new Set(), token: new Secret(''), expiresAt: Infinity },
  claims: { sub: subject, ...claims },
});

/** Returns true when the outcomes of one of these users are also used for the other. */
function share(policy: string, entities?: string, [first, second]: readonly object[] = [{}, {}]): boolean | undefined {
  const cedar = { policies: [policy], ...(entities !== undefined && { entities_json: entities }) };
  const config: AuthorizationConfig = { type: 'cedarv1', version: '1.0', cedar };
  const authorizer = new Authorizer(config, requirePolicies(config), 'desk');
  const [ann, bob] = [identity('ann', first ?? {}), identity('bob', second ?? {})];
  return authorizer.principalOf(ann)?.key === authorizer.principalOf(bob)?.key;
}

const TEAMS = [{ groups: ['a'] }, { groups: ['b'] }];

describe('users that no policy tells apart', () => {
  it.each([
    'permit(principal, action, resource);',
    'permit(principal in Group::"a", action, resource);',
    'permit(principal is Client in Group::"a", action, resource);',
    'permit(principal, action, resource) when { principal in Group::"a" || principal has claim_tier };',
    'permit(principal, action, resource) when { principal is Client && principal.claim_tier == "gold" };',
  ])('share their outcomes: %s', (policy) => {
    expect(share(policy)).toBe(true);
  });

  it.each([
    'permit(principal == Client::"ann", action, resource);',
    'permit(principal in Client::"ann", action, resource);',
    'permit(principal, action, resource) when { principal == Client::"ann" };',
    'permit(principal, action, resource) when { [Client::"ann"].contains(principal) };',
    'permit(principal, action, resource) when { resource in principal };',
    'forbid(principal, action, resource) unless { {u: principal}.u == principal };',
    'permit(principal, action, resource) when { context.claim_sub == "ann" };',
    'permit(principal, action, resource) when { principal.claim_sub == "ann" };',
  ])('and others do not: %s', (policy) => {
    expect(share(policy)).toBe(false);
  });

  it('are apart by their groups, and with configured entities, which may name them', () => {
    expect(share('permit(principal in Group::"a", action, resource);', undefined, TEAMS)).toBe(false);
    expect(share('permit(principal, action, resource);', undefined, TEAMS)).toBe(true);
    const entities =
      '[{"uid": {"type": "Client", "id": "ann"}, "attrs": {}, "parents": [{"type": "Group", "id": "a"}]}]';
    expect(share('permit(principal in Group::"a", action, resource);', entities)).toBe(false);
  });
});
