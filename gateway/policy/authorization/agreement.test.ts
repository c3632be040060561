import { expect, it } from 'vitest';
import type { ListedItem } from '../policy.ts';
import { allows, callOf, identityOf, policyOf } from './testdata/decide.ts';
import { randomClaims, randomOf, randomPolicies } from './testdata/random-policies.ts';

const WORDS = { tools: ['pay', 'refund', 'stock', 'scan'], groups: ['admins', 'ops'], backends: ['shop', 'bank'] };
const ROUNDS = 40;

function itemsOf(random: () => number): ListedItem[] {
  const hint = (): boolean | undefined => (random() < 0.3 ? undefined : random() < 0.5);
  const tools = WORDS.tools.map((name): ListedItem => {
    const annotations = { readOnlyHint: hint(), destructiveHint: hint() };
    const backend = random() < 0.5 ? 'shop' : 'bank';
    return { kind: 'tools', name, backend, json: Buffer.from(JSON.stringify({ name, annotations })) };
  });
  const others = [
    ['prompts', 'greet'],
    ['resources', 'shop:///stock'],
    ['resources', 'shop:///a/../stock'],
    ['templates', 'shop:///{item}'],
  ] as const;
  return [...tools, ...others.map(([kind, name]): ListedItem => ({ kind, name, backend: 'shop', json: undefined }))];
}

it('lists of random users show what they may use, under random policies', () => {
  const seen = { listed: 0, hidden: 0 };
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const random = randomOf(seed);
    const policies = randomPolicies(random, WORDS);
    const [policy, other] = [policyOf(policies), policyOf(policies)];
    const items = itemsOf(random);
    for (const identity of [identityOf(randomClaims(random, WORDS)), identityOf(randomClaims(random, WORDS))]) {
      for (const item of items) {
        const listed = policy.isListed?.(item, { principal: identity.principal, identity });
        const context = `seed ${String(seed)}: ${policies.join(' ')} ${item.kind} ${item.name}`;
        expect(allows(policy, item, identity), context).toBe(listed);
        expect(allows(policy, item, identity), `${context} again`).toBe(listed);
        expect(allows(other, item, identity, '{}'), `${context} without a cache`).toBe(listed);
        expect(policy.decideUnknown?.(callOf(item, identity)), context).toEqual(
          listed === true && item.kind === 'templates'
            ? { verdict: 'allow' }
            : expect.objectContaining({ verdict: 'deny' }),
        );
        seen[listed === true ? 'listed' : 'hidden'] += 1;
      }
    }
  }
  expect(Math.min(seen.listed, seen.hidden)).toBeGreaterThan(ROUNDS);
});
