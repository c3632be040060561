import { expect, it } from 'vitest';
import type { Policy, Viewer } from '../../policy/policy.ts';
import { aggregate } from '../aggregation/aggregate.ts';
import { catalog, rules } from '../aggregation/testdata/catalogs.ts';
import { ListedViews } from './listed.ts';

const viewer = (principal: string): Viewer => ({ principal, identity: { subject: principal } as Viewer['identity'] });

/** Hides the tool that has the name of the principal. */
const hidesOwn: Policy = {
  decide: () => ({ verdict: 'allow' }),
  isListed: ({ name }, { principal }) => !name.endsWith(`_${principal}`),
};

it('leaves out the instructions of backends of which a viewer sees nothing', () => {
  const backend = (name: string, tool: string) => ({
    ...catalog(name, { tools: [{ name: tool }] }),
    instructions: `use ${name}`,
  });
  const { view } = aggregate([backend('x', 'a'), backend('y', 'b')], rules(), []);
  const of = (principal: string) => new ListedViews().of(view, viewer(principal), [hidesOwn]).instructions.merged;
  expect(of('a')).toBe('# y\n\nuse y');
  expect(of('nobody')).toBe(view.instructions.merged);
});

it('gives viewers with the same items one view, and others their own', () => {
  const tools = ['a', 'b', 'c'].map((name) => ({ name }));
  const { view } = aggregate([catalog('x', { tools, prompts: [{ name: 'a' }] })], rules(), []);
  const views = new ListedViews();
  const of = (principal: string) => views.of(view, viewer(principal), [hidesOwn]);
  const namesOf = (principal: string) => of(principal).lists.tools.items.map(({ key }) => key);
  expect(namesOf('a')).toEqual(['x_b', 'x_c']);
  expect(namesOf('b')).toEqual(['x_a', 'x_c']);
  expect(namesOf('nobody')).toEqual(['x_a', 'x_b', 'x_c']);
  expect(of('a').lists.prompts.items).toEqual([]);
  expect(of('nobody').lists.prompts).toBe(view.lists.prompts);
  // each call has an identity of its own
  const policies = [hidesOwn];
  const first = views.of(view, viewer('a'), policies);
  expect(views.of(view, viewer('a'), policies)).toBe(first);
  expect(views.of(view, viewer('b'), policies)).not.toBe(first);
});
